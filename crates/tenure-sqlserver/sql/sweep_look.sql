-- Messages by number, with when they were finished: null while they are not. One that was never delivered is not finished. What is
-- locked is passed over, and swept another time.
-- 1 after which number, 2 how many
SELECT TOP (@P2) o.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us,
       CASE WHEN p.id IS NULL AND n.id IS NULL AND o.fresh IS NULL THEN DATEDIFF_BIG(
           MICROSECOND, '1970-01-01',
           coalesce(
               d.discarded_at, d.died_at,
               (
                   SELECT TOP (1) CASE WHEN a.outcome = N'success' THEN a.at END FROM {outbox_attempts} AS a
                   WHERE a.message = o.id ORDER BY a.number DESC
               )
           )
       ) END AS finished_us,
       CASE WHEN d.id IS NULL THEN 0 ELSE 1 END AS dead, CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END AS discarded
FROM {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK)
LEFT JOIN {outbox_pending} AS p ON p.id = o.id
LEFT JOIN {outbox_arrivals} AS n ON n.id = o.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
WHERE o.id > @P1
ORDER BY o.id
