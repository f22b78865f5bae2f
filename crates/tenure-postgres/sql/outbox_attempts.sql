-- Every attempt of one message, the first one first.
-- $1 the message's id
SELECT a.number, a.at AS at_us, a.outcome, a.took_us, a.node, a.term, a.error
FROM {outbox} AS o
JOIN {outbox_attempts} AS a ON a.message = o.id
WHERE o.message_id = $1::text::uuid
ORDER BY a.number
