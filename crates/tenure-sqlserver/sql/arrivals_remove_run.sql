-- The same of a run of numbers without a gap: what is removed can be nothing else.
-- 1 2 the first and the last number
DELETE a FROM {outbox_arrivals} AS a WITH (ROWLOCK) WHERE a.id BETWEEN @P1 AND @P2
