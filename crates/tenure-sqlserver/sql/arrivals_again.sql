-- The same of some by their numbers.
-- 1 numbers, 2 how many of what is to be put into the queue
SELECT {arrival_checked_columns}
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_arrivals} AS a ON a.id = asked.id
LEFT LOOP JOIN {outbox} AS o ON o.id = a.id
UNION ALL
SELECT fresh.* FROM (
    SELECT TOP (@P2) {fresh_columns}
    FROM {outbox} AS o WITH (INDEX (fresh))
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
) AS fresh
