-- Dead messages, or discarded ones (?6).
from {outbox_dead} as d
cross join {outbox} as o on o.id = d.id
left join {outbox_pending} as p
    on (p.lane, p.source_seq, p.source_index, p.id) = (o.lane, o.source_seq, o.source_index, o.id)
where d.id between ?1 and ?2
  and (?3 is null or o.topic = ?3)
  and (?4 is null or o.source = ?4)
  and (?5 is null or o.type = ?5)
  and (d.discarded_at is not null) = ?6
order by d.id desc
limit ?7
