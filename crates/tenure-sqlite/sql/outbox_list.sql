-- Messages of every state, or only dispatched ones (?6).
from {outbox} as o
left join {outbox_pending} as p
    on (p.lane, p.source_seq, p.source_index, p.id) = (o.lane, o.source_seq, o.source_index, o.id)
left join {outbox_dead} as d on d.id = o.id
where o.id between ?1 and ?2
  and (?3 is null or o.topic = ?3)
  and (?4 is null or o.source = ?4)
  and (?5 is null or o.type = ?5)
  and (not ?6 or (p.id is null and d.id is null))
order by o.id desc
limit ?7
