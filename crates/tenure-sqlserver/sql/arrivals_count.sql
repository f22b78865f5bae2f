-- How many of some numbers that follow one another have just come, and the last of them: where no other is between, they need not be
-- named. Whether there is more behind them. And whether there is anything that only arrivals_look can judge: what was missed, and what
-- is to be put into the queue. All by one snapshot where rows are versioned.
-- 1 after which number, 2 how many numbers, 3 4 what was missed: all before this number, and these
SELECT COUNT_BIG(*) AS listed, MAX(a.id) AS last,
       CASE WHEN EXISTS (SELECT 1 FROM {outbox_arrivals} AS b WHERE b.id > @P1 + @P2) THEN 1 ELSE 0 END AS more,
       CASE WHEN EXISTS (SELECT 1 FROM {outbox_arrivals} AS m WHERE m.id < @P3)
                 OR EXISTS (
                     SELECT 1
                     FROM OPENJSON(@P4) WITH (id bigint '$') AS asked
                     INNER LOOP JOIN {outbox_arrivals} AS m ON m.id = asked.id
                 )
                 OR EXISTS (SELECT 1 FROM {outbox} AS o WITH (INDEX (fresh)) WHERE o.fresh IS NOT NULL)
            THEN 1 ELSE 0 END AS beside
FROM {outbox_arrivals} AS a
WHERE a.id > @P1 AND a.id <= @P1 + @P2
