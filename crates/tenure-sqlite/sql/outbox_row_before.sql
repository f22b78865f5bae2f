-- The row of this number, or the next lower one.
select id, created_at from {outbox} where id <= ?1 order by id desc limit 1
