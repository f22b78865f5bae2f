insert into {outbox_dead} (id, source, died_at, outcome, reason, attempts, halts, cause)
select id, source, ?2, ?3, ?4, ?5, ?6, ?7 from {outbox} where id = ?1
