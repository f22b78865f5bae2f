-- Only if it is finished still: an operator may have revived it since the look.
delete from {outbox} as o
where o.id = ?1
  and not exists (
      select 1 from {outbox_pending} as p
      where (p.lane, p.source_seq, p.source_index, p.id) = (o.lane, o.source_seq, o.source_index, o.id)
  )
