-- Only if it is finished still: an operator may have revived it since the look.
delete from {outbox}
where id = ?1
  and not exists (select 1 from {outbox_pending} as p where p.id = ?1)
