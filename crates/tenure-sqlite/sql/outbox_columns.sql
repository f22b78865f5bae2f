-- A message for people to see. Which table leads is said below; the others follow by number.
select o.id, o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type, o.created_at as created_us,
       case
           when d.discarded_at is not null then 'discarded'
           when d.id is not null then 'dead'
           when p.id is not null then 'pending'
           -- Neither queued nor tried: someone took it out of the queue by hand.
           when not exists (select 1 from {outbox_attempts} as a where a.message = o.id) then 'pending'
           else 'dispatched'
       end as state,
       -- In the queue, in the memory of the dead, or else as the last attempt was numbered.
       coalesce(
           p.attempts, d.attempts,
           (select a.number from {outbox_attempts} as a where a.message = o.id order by a.number desc limit 1), 0
       ) as attempts,
       case when d.id is null then p.due_at end as due_us,
       case
           when d.id is not null then coalesce(d.discarded_at, d.died_at)
           when p.id is null
               then (select a.at from {outbox_attempts} as a where a.message = o.id order by a.number desc limit 1)
       end as finished_us,
       (
           select a.error from {outbox_attempts} as a
           where a.message = o.id and a.error is not null
           order by a.number desc limit 1
       ) as last_error,
       d.halts and d.discarded_at is null as halts{more}
