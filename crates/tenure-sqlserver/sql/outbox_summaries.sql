-- Messages for people to see. One that is neither queued nor tried was taken out of the queue by hand: it waits.
-- 1 numbers
SELECT s.id, s.message_id, s.source, s.source_seq, s.source_index, s.topic, s.type, s.created_us,
       CASE
           WHEN s.discarded_us IS NOT NULL THEN N'discarded'
           WHEN s.died_us IS NOT NULL THEN N'dead'
           WHEN s.queued = 0 AND s.tried_us IS NOT NULL THEN N'dispatched'
           ELSE N'pending'
       END AS state,
       s.attempts,
       CASE
           WHEN s.died_us IS NOT NULL OR s.queued IN (0, 2) THEN NULL
           ELSE s.due_us
       END AS due_us,
       coalesce(s.discarded_us, s.died_us, CASE WHEN s.queued = 0 THEN s.tried_us END) AS finished_us,
       coalesce(s.error, s.reason) AS last_error,
       CASE WHEN s.halts = 1 AND s.discarded_us IS NULL THEN 1 ELSE 0 END AS halts
FROM (
    SELECT {outbox_summary_columns}
    FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
    INNER LOOP JOIN {outbox} AS o ON o.id = asked.id
    LEFT LOOP JOIN {outbox_pending} AS p ON p.id = o.id
    LEFT LOOP JOIN {outbox_arrivals} AS n ON n.id = o.id
    LEFT LOOP JOIN {outbox_dead} AS d ON d.id = o.id
) AS s
ORDER BY s.id DESC
