-- Dead messages are pending again, in their old places; all their attempts are forgiven. One that its source stands still behind
-- is in the queue already.
-- 1 numbers
UPDATE p SET queued = 1, due_us = DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now), forgiven = p.attempts,
             place_a = CASE WHEN p.lane = 0x THEN DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) ELSE p.place_a END
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_pending} AS p WITH (ROWLOCK) ON p.id = asked.id;
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, queued, due_us, attempts, forgiven)
SELECT o.id, {pending_lane_fragment},
       CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_seq ELSE DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) END,
       {pending_index_fragment}, 1, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now), d.attempts, d.attempts
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_dead} AS d ON d.id = asked.id
INNER LOOP JOIN {outbox} AS o ON o.id = d.id
WHERE NOT EXISTS (SELECT 1 FROM {outbox_pending} AS t WITH (READCOMMITTEDLOCK) WHERE t.id = o.id)
