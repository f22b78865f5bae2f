-- A message for people to see. Which table leads is said below; the others follow by number.
select o.id, o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type, o.created_at,
       p.due_at, p.attempts, d.died_at, d.attempts, d.halts, d.discarded_at,
       (select a.number from {outbox_attempts} as a where a.message = o.id order by a.number desc limit 1),
       (select a.at from {outbox_attempts} as a where a.message = o.id order by a.number desc limit 1),
       (
           select a.error from {outbox_attempts} as a
           where a.message = o.id and a.error is not null
           order by a.number desc limit 1
       ),
       p.id is not null, d.id is not null
