-- The same for a run of numbers that are all on the list.
-- 1 2 the first and the last but one, 3 the last
DELETE a FROM {outbox_arrivals} AS a WITH (ROWLOCK) WHERE a.id BETWEEN @P1 AND @P3 AND @P2 < @P3
