-- 1 message, 2 how many
SELECT TOP (@P2) number, DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us, outcome, took_us, node, term, error
FROM {outbox_attempts}
WHERE message = @P1
ORDER BY number
