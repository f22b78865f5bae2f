-- What has just come, in the order of its numbers, and what was missed of it. And what is to be put into the queue, as outbox_lanes.
-- And whether there is anything in lanes. All by one snapshot where rows are versioned.
-- 1 after which number, 2 how many, 3 4 what was missed: all before this number, and these, 5 how many of either, 6 how many of what
-- is to be put into the queue, 7 whether each is looked at for what is in its lane
SELECT ahead.* FROM (
    SELECT TOP (@P2) {arrival_columns}
    FROM {outbox_arrivals} AS a
    LEFT LOOP JOIN {outbox} AS o ON o.id = a.id
    WHERE a.id > @P1
    ORDER BY a.id
) AS ahead
UNION ALL
SELECT early.* FROM (
    SELECT TOP (@P5) {arrival_columns}
    FROM {outbox_arrivals} AS a
    LEFT LOOP JOIN {outbox} AS o ON o.id = a.id
    WHERE a.id < @P3
    ORDER BY a.id
) AS early
UNION ALL
SELECT missed.* FROM (
    SELECT TOP (@P5) {arrival_columns}
    FROM (SELECT DISTINCT id FROM OPENJSON(@P4) WITH (id bigint '$')) AS asked
    INNER LOOP JOIN {outbox_arrivals} AS a ON a.id = asked.id
    LEFT LOOP JOIN {outbox} AS o ON o.id = a.id
    WHERE a.id >= @P3
    ORDER BY a.id
) AS missed
UNION ALL
SELECT fresh.* FROM (
    SELECT TOP (@P6) {fresh_columns}
    FROM {outbox} AS o WITH (INDEX (fresh))
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
) AS fresh
UNION ALL
SELECT lanes.* FROM (
    SELECT TOP (1) p.id, CONVERT(varbinary(500), 0x01) AS lane, 6 AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven,
           N'' COLLATE Latin1_General_100_CI_AS AS message_id, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS source,
           CAST(0 AS bigint) AS source_seq, 0 AS source_index,
           N'' COLLATE Latin1_General_100_BIN2 AS topic, N'' COLLATE Latin1_General_100_BIN2 AS type,
           CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS content_type,
           CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS headers,
           0 AS created_us, 0 AS shape, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS payload,
           CAST(NULL AS varbinary(max)) AS payload_bytes
    FROM {outbox_pending} AS p
) AS lanes
