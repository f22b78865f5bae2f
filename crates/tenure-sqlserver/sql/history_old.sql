-- Lines of history, the oldest first, and what may become of each: 0 it tells the last term of its lease, 1 it may go, 2 it is
-- young.
-- 1 after which number, 2 how many, 3 how long a line is kept, in microseconds
SELECT h.id,
       CASE
           WHEN h.at > DATEADD(MICROSECOND, -CAST(@P3 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P3 / 60000000 AS int), @now)) THEN 2
           WHEN h.term < (SELECT max(l.term) FROM {lease_history} AS l WHERE l.name = h.name) THEN 1
           ELSE 0
       END AS fate
FROM (SELECT TOP (@P2) id, name, term, at FROM {lease_history} WHERE id > @P1 ORDER BY id) AS h
ORDER BY h.id
