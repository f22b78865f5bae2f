from {outbox_pending} as p indexed by "{prefix}outbox_pending_due" cross join {outbox} as o on o.id = p.id
where p.lane = '' and p.due_at = ?1 and p.id > ?2
order by p.id
limit ?3
