-- $1 message, $2 how many
SELECT number, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', at) AS at_us, outcome, took_us, node, term, error
FROM {outbox_attempts}
WHERE message = $1
ORDER BY number
LIMIT $2
