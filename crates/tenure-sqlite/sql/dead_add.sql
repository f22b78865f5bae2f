insert into {outbox_dead} (id, source, died_at, outcome, reason, attempts, halts)
select id, source, ?2, ?3, ?4, ?5, ?6 from {outbox} where id = ?1
