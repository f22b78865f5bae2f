-- How many messages wait, counted up to ?1.
select count(*) from (select 1 from {outbox_pending} limit ?1)
