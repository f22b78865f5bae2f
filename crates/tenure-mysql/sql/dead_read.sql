-- Messages that are dead, also discarded ones, as the audit trail names them. Read behind the locks of their rows.
-- $1 numbers
SELECT o.id, o.message_id, left(o.topic, 300) AS topic, left(o.type, 300) AS type, d.reason,
       d.discarded_at IS NOT NULL AS discarded, d.cause
FROM {outbox_dead} AS d
STRAIGHT_JOIN {outbox} AS o ON o.id = d.id
WHERE d.id IN ($1)
ORDER BY o.id
