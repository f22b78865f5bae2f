-- A message that is dead still, as the audit trail names it.
select o.message_id, o.topic, o.type, d.reason, d.attempts, d.cause
from {outbox_dead} as d cross join {outbox} as o on o.id = d.id
where d.id = ?1 and d.discarded_at is null
