-- Every text as the server reads it. Written by the tests of src/grammar.rs.

-- arrivals_add
INSERT INTO [tenure_outbox_arrivals] (id)
SELECT o.id
FROM OPENJSON(@P1) WITH (id nvarchar(64) '$.v[0][1]') AS asked
INNER LOOP JOIN [tenure_outbox] AS o ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS
WHERE NOT EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] AS t WITH (UPDLOCK, ROWLOCK) WHERE t.id = o.id)

-- arrivals_add_new
INSERT INTO [tenure_outbox_arrivals] (id) VALUES (SCOPE_IDENTITY())

-- arrivals_add_one
INSERT INTO [tenure_outbox_arrivals] (id)
SELECT SCOPE_IDENTITY()
WHERE NOT EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] AS t WITH (UPDLOCK, ROWLOCK) WHERE t.id = SCOPE_IDENTITY())

-- arrivals_count
SELECT COUNT_BIG(*) AS listed, MAX(a.id) AS last,
       CASE WHEN EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] AS b WHERE b.id > @P1 + @P2) THEN 1 ELSE 0 END AS more,
       CASE WHEN EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] AS m WHERE m.id < @P3)
                 OR EXISTS (
                     SELECT 1
                     FROM OPENJSON(@P4) WITH (id bigint '$') AS asked
                     INNER LOOP JOIN [tenure_outbox_arrivals] AS m ON m.id = asked.id
                 )
                 OR EXISTS (SELECT 1 FROM [tenure_outbox] AS o WITH (INDEX (fresh)) WHERE o.fresh IS NOT NULL)
            THEN 1 ELSE 0 END AS beside
FROM [tenure_outbox_arrivals] AS a
WHERE a.id > @P1 AND a.id <= @P1 + @P2

-- arrivals_first
SELECT TOP (@P1) id FROM [tenure_outbox_arrivals] ORDER BY id

-- arrivals_hold
SELECT a.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN [tenure_outbox_arrivals] AS a WITH (UPDLOCK, ROWLOCK) ON a.id = asked.id
ORDER BY a.id

-- arrivals_look
SELECT ahead.* FROM (
    SELECT TOP (@P2) a.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, CASE WHEN o.id IS NULL THEN 4 WHEN @P7 = 1 AND CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END <> 0x AND EXISTS ( SELECT 1 FROM [tenure_outbox_pending] AS q WITH (INDEX (queue)) WHERE q.lane = CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END ) THEN 5 ELSE 1 END AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
    FROM [tenure_outbox_arrivals] AS a
    LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = a.id
    WHERE a.id > @P1
    ORDER BY a.id
) AS ahead
UNION ALL
SELECT early.* FROM (
    SELECT TOP (@P5) a.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, CASE WHEN o.id IS NULL THEN 4 WHEN @P7 = 1 AND CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END <> 0x AND EXISTS ( SELECT 1 FROM [tenure_outbox_pending] AS q WITH (INDEX (queue)) WHERE q.lane = CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END ) THEN 5 ELSE 1 END AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
    FROM [tenure_outbox_arrivals] AS a
    LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = a.id
    WHERE a.id < @P3
    ORDER BY a.id
) AS early
UNION ALL
SELECT missed.* FROM (
    SELECT TOP (@P5) a.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, CASE WHEN o.id IS NULL THEN 4 WHEN @P7 = 1 AND CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END <> 0x AND EXISTS ( SELECT 1 FROM [tenure_outbox_pending] AS q WITH (INDEX (queue)) WHERE q.lane = CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END ) THEN 5 ELSE 1 END AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
    FROM (SELECT DISTINCT id FROM OPENJSON(@P4) WITH (id bigint '$')) AS asked
    INNER LOOP JOIN [tenure_outbox_arrivals] AS a ON a.id = asked.id
    LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = a.id
    WHERE a.id >= @P3
    ORDER BY a.id
) AS missed
UNION ALL
SELECT fresh.* FROM (
    SELECT TOP (@P6) o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, 3 AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, N'' COLLATE Latin1_General_100_CI_AS AS message_id, CASE WHEN DATALENGTH(o.source) <= 1000 THEN o.source END AS source, o.source_seq, o.source_index, N'' COLLATE Latin1_General_100_BIN2 AS topic, N'' COLLATE Latin1_General_100_BIN2 AS type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS content_type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS headers, 0 AS created_us, 0 AS shape, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS payload, CAST(NULL AS varbinary(max)) AS payload_bytes
    FROM [tenure_outbox] AS o WITH (INDEX (fresh))
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
    FROM [tenure_outbox_pending] AS p
) AS lanes

-- arrivals_orphans
SELECT a.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN [tenure_outbox_arrivals] AS a WITH (UPDLOCK, ROWLOCK) ON a.id = asked.id
LEFT LOOP JOIN [tenure_outbox] AS o WITH (READCOMMITTEDLOCK) ON o.id = a.id
WHERE o.id IS NULL

-- arrivals_put
INSERT INTO [tenure_outbox_arrivals] (id)
SELECT r.id
FROM OPENJSON(@P1) WITH (id bigint '$.v[0]') AS r
WHERE NOT EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] AS t WITH (UPDLOCK, ROWLOCK) WHERE t.id = r.id)

-- arrivals_remove
DELETE a FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_arrivals] AS a WITH (ROWLOCK) ON a.id = asked.id

-- arrivals_remove_run
DELETE a FROM [tenure_outbox_arrivals] AS a WITH (ROWLOCK) WHERE a.id BETWEEN @P1 AND @P3 AND @P2 < @P3

-- arrivals_rows
SELECT TOP (@P2) o.id, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
FROM [tenure_outbox] AS o
WHERE o.id > @P1
ORDER BY o.id

-- attempts_add
INSERT INTO [tenure_outbox_attempts] (message, number, outcome, took_us, node, term, error)
SELECT r.message, r.number, r.outcome, r.took_us, r.node, r.term, r.error
FROM OPENJSON(@P1) WITH (
    message bigint '$.v[0]', number int '$.v[1]', outcome nvarchar(16) '$.v[2]', took_us bigint '$.v[3]',
    node nvarchar(200) '$.v[4]', term bigint '$.v[5]', error nvarchar(max) '$.v[6]'
) AS r
WHERE NOT EXISTS (
    SELECT 1 FROM [tenure_outbox_attempts] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
    WHERE t.message = r.message AND t.number = r.number
)

-- attempts_add_run
INSERT INTO [tenure_outbox_attempts] (message, number, outcome, took_us, node, term)
SELECT a.id, 1, @P3, @P4, @P5, @P6
FROM [tenure_outbox_arrivals] AS a
WHERE a.id BETWEEN @P1 AND @P2
  AND NOT EXISTS (
      SELECT 1 FROM [tenure_outbox_attempts] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.message = a.id AND t.number = 1
  )

-- attempts_delete
DELETE a FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_attempts] AS a WITH (ROWLOCK) ON a.message = asked.id

-- attempts_list
SELECT TOP (@P2) number, DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us, outcome, took_us, node, term, error
FROM [tenure_outbox_attempts]
WHERE message = @P1
ORDER BY number

-- audit_add
INSERT INTO [tenure_audit] (at, actor, action, subject, detail) VALUES (@now, @P1, @P2, @P3, @P4)

-- audit_list
SELECT a.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.at) AS at_us, a.actor, a.action, a.subject, a.detail,
       f.fits, f.looked, f.found
FROM (
    SELECT w.id, w.fits, COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked, SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found, LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
    FROM (
        SELECT TOP (@P2) l.id,
               CASE
                   WHEN (
                       @P3 IS NULL OR (l.actor = @P3 AND DATALENGTH(l.actor) = DATALENGTH(@P3))
                       OR SUBSTRING(l.actor, 1, DATALENGTH(@P3) / 2 + 2) = @P3 + N' ('
                   )
                    AND (@P4 IS NULL OR (l.action = @P4 AND DATALENGTH(l.action) = DATALENGTH(@P4)))
                    AND (@P5 IS NULL OR (l.subject = @P5 AND DATALENGTH(l.subject) = DATALENGTH(@P5)))
                   THEN 1 ELSE 0
               END AS fits
        FROM [tenure_audit] AS l
        WHERE l.id < @P1
        ORDER BY l.id DESC
    ) AS w
) AS f
INNER LOOP JOIN [tenure_audit] AS a ON a.id = f.id
WHERE (f.fits = 1 AND f.found <= @P6) OR f.next_id IS NULL
ORDER BY a.id DESC

-- begin
BEGIN TRANSACTION

-- checkpoint_first
IF EXISTS (SELECT 1 FROM [tenure_checkpoints] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_checkpoints] (name, position, moved_at) VALUES (@B1, @P2, @now)

-- checkpoint_list
SELECT TOP (@P2) c.name, c.position, DATEDIFF_BIG(MICROSECOND, '1970-01-01', c.moved_at) AS moved_us,
       (
           SELECT COUNT_BIG(*) FROM (
               SELECT TOP (@P3 + 1) 1 AS one FROM [tenure_parked] AS p WHERE p.subscription = c.name
           ) AS counted
       ) AS parked
FROM [tenure_checkpoints] AS c
WHERE c.name > @B1
ORDER BY c.name

-- checkpoint_lock
SELECT position, rewinds FROM [tenure_checkpoints] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1

-- checkpoint_move
UPDATE [tenure_checkpoints] WITH (ROWLOCK) SET position = @P2, moved_at = @now WHERE name = @B1

-- checkpoint_read
SELECT position, rewinds FROM [tenure_checkpoints] WHERE name = @B1

-- checkpoint_rewind
INSERT INTO [tenure_checkpoints] (name, position, moved_at, rewinds)
SELECT @B1, 0, @now, 0
WHERE NOT EXISTS (SELECT 1 FROM [tenure_checkpoints] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1);
UPDATE [tenure_checkpoints] WITH (ROWLOCK) SET position = @P2, moved_at = @now, rewinds = rewinds + 1 WHERE name = @B1

-- cluster_bump
UPDATE [tenure_cluster] WITH (ROWLOCK) SET revision = revision + 1 WHERE id = 1

-- cluster_look
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, l.origin_epoch, l.origin_term, n.name AS member, n.incarnation AS member_incarnation, n.term AS member_term, n.machine AS member_machine, n.pid AS member_pid, n.labels, n.version, n.capacity, n.leads, n.agents, n.leaving, DATEDIFF_BIG(MICROSECOND, '1970-01-01', n.joined_at) AS joined_us, n.revision AS member_revision, c.revision AS cluster_revision, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM [tenure_cluster] AS c WITH (REPEATABLEREAD, ROWLOCK)
CROSS JOIN (
    SELECT CAST(NULL AS varbinary(200)) AS node, CAST(@B1 AS varbinary(200)) AS lease
    UNION ALL
    SELECT m.name, CAST(@B2 + m.name AS varbinary(200)) FROM [tenure_nodes] AS m WITH (READCOMMITTEDLOCK)
) AS w
LEFT JOIN [tenure_nodes] AS n WITH (READCOMMITTEDLOCK) ON n.name = w.node
LEFT JOIN [tenure_leases] AS l WITH (READCOMMITTEDLOCK) ON l.name = w.lease
ORDER BY n.name
OPTION (FORCE ORDER)

-- cluster_nodes
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, l.origin_epoch, l.origin_term, n.name AS member, n.incarnation AS member_incarnation, n.term AS member_term, n.machine AS member_machine, n.pid AS member_pid, n.labels, n.version, n.capacity, n.leads, n.agents, n.leaving, DATEDIFF_BIG(MICROSECOND, '1970-01-01', n.joined_at) AS joined_us, n.revision AS member_revision, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM (SELECT 1 AS one) AS always
LEFT JOIN [tenure_nodes] AS n ON 1 = 1
LEFT JOIN [tenure_leases] AS l ON l.name = CAST(@B1 + n.name AS varbinary(200))
ORDER BY n.name

-- cluster_revision
SELECT revision FROM [tenure_cluster] WHERE id = 1

-- cluster_settled
SELECT revision FROM [tenure_cluster] WITH (READCOMMITTEDLOCK, ROWLOCK) WHERE id = 1

-- cluster_wait
DECLARE @own_tick bigint = 1, @own_revision bigint = @P1;
WHILE @own_tick < @P2 AND @own_revision = @P1
BEGIN
    WAITFOR DELAY '00:00:00.025';
    SET @own_revision = (SELECT revision FROM [tenure_cluster] WITH (READUNCOMMITTED) WHERE id = 1);
    SET @own_tick = CASE
        WHEN DATEDIFF_BIG(MILLISECOND, @now, SYSUTCDATETIME()) >= 25 * @P2 THEN @P2
        ELSE @own_tick + 1
    END;
END;
SELECT CASE WHEN @own_revision IS NULL THEN 0 ELSE @own_tick END AS tick, coalesce(@own_revision, @P1) AS revision

-- commit
COMMIT TRANSACTION

-- daemons_after
SELECT TOP (@P3) a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.deadline) AS deadline_us, a.reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.since) AS since_us, a.weight, a.labels, a.group_name, a.layout, a.paused_by, a.pinned_to, a.retired, a.failures, a.avoids, a.moves, a.revision FROM [tenure_assignments] AS a
WHERE a.revision >= @P1 AND (a.revision > @P1 OR a.daemon > @B2)
ORDER BY a.revision, a.daemon

-- daemons_delete
DELETE a FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN [tenure_assignments] AS a WITH (ROWLOCK) ON a.daemon = asked.name

-- daemons_list
SELECT TOP (@P4) a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.deadline) AS deadline_us, a.reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.since) AS since_us, a.weight, a.labels, a.group_name, a.layout, a.paused_by, a.pinned_to, a.retired, a.failures, a.avoids, a.moves, a.revision FROM [tenure_assignments] AS a
WHERE (@B1 IS NULL OR a.node = @B1 OR a.next_node = @B1)
  AND (@B2 IS NULL OR SUBSTRING(a.daemon, 1, DATALENGTH(@B2)) = @B2)
  AND (@B3 IS NULL OR a.daemon > @B3)
ORDER BY a.daemon

-- daemons_named
SELECT a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.deadline) AS deadline_us, a.reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.since) AS since_us, a.weight, a.labels, a.group_name, a.layout, a.paused_by, a.pinned_to, a.retired, a.failures, a.avoids, a.moves, a.revision FROM (SELECT DISTINCT name FROM OPENJSON(@B1) WITH (name varbinary(200) '$')) AS asked
INNER LOOP JOIN [tenure_assignments] AS a ON a.daemon = asked.name

-- daemons_of_groups
SELECT a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.deadline) AS deadline_us, a.reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.since) AS since_us, a.weight, a.labels, a.group_name, a.layout, a.paused_by, a.pinned_to, a.retired, a.failures, a.avoids, a.moves, a.revision FROM (SELECT DISTINCT name FROM OPENJSON(@B1) WITH (name varbinary(200) '$')) AS asked
INNER LOOP JOIN [tenure_assignments] AS a ON a.group_name = asked.name

-- daemons_write
UPDATE t
SET state = r.state,
    node = r.node,
    node_term = r.node_term,
    generation = r.generation,
    next_node = r.next_node,
    deadline = r.deadline,
    reason = r.reason,
    since = r.since,
    weight = r.weight,
    labels = r.labels,
    group_name = r.group_name,
    layout = r.layout,
    paused_by = r.paused_by,
    pinned_to = r.pinned_to,
    retired = r.retired,
    failures = r.failures,
    avoids = r.avoids,
    moves = r.moves,
    revision = r.revision
FROM OPENJSON(@P1) WITH (
    daemon varbinary(200) '$.b[0]',
    state nvarchar(16) '$.v[1]',
    node varbinary(200) '$.b[2]',
    node_term bigint '$.v[3]',
    generation bigint '$.v[4]',
    next_node varbinary(200) '$.b[5]',
    deadline datetime2(6) '$.v[6]',
    reason nvarchar(max) '$.v[7]',
    since datetime2(6) '$.v[8]',
    weight bigint '$.v[9]',
    labels nvarchar(max) '$.v[10]',
    group_name varbinary(200) '$.b[11]',
    layout bigint '$.v[12]',
    paused_by nvarchar(200) '$.v[13]',
    pinned_to nvarchar(200) '$.v[14]',
    retired tinyint '$.v[15]',
    failures bigint '$.v[16]',
    avoids nvarchar(max) '$.v[17]',
    moves bigint '$.v[18]',
    revision bigint '$.v[19]'
) AS r
INNER LOOP JOIN [tenure_assignments] AS t WITH (ROWLOCK) ON t.daemon = r.daemon;
INSERT INTO [tenure_assignments] (daemon, state, node, node_term, generation, next_node, deadline, reason, since, weight, labels, group_name, layout, paused_by, pinned_to, retired, failures, avoids, moves, revision)
SELECT r.daemon, r.state, r.node, r.node_term, r.generation, r.next_node, r.deadline, r.reason, r.since, r.weight, r.labels, r.group_name, r.layout, r.paused_by, r.pinned_to, r.retired, r.failures, r.avoids, r.moves, r.revision
FROM OPENJSON(@P1) WITH (
    daemon varbinary(200) '$.b[0]',
    state nvarchar(16) '$.v[1]',
    node varbinary(200) '$.b[2]',
    node_term bigint '$.v[3]',
    generation bigint '$.v[4]',
    next_node varbinary(200) '$.b[5]',
    deadline datetime2(6) '$.v[6]',
    reason nvarchar(max) '$.v[7]',
    since datetime2(6) '$.v[8]',
    weight bigint '$.v[9]',
    labels nvarchar(max) '$.v[10]',
    group_name varbinary(200) '$.b[11]',
    layout bigint '$.v[12]',
    paused_by nvarchar(200) '$.v[13]',
    pinned_to nvarchar(200) '$.v[14]',
    retired tinyint '$.v[15]',
    failures bigint '$.v[16]',
    avoids nvarchar(max) '$.v[17]',
    moves bigint '$.v[18]',
    revision bigint '$.v[19]'
) AS r
WHERE NOT EXISTS (SELECT 1 FROM [tenure_assignments] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.daemon = r.daemon)

-- dead_add
INSERT INTO [tenure_outbox_dead] (id, outcome, reason, attempts, halts, cause)
SELECT r.id, r.outcome, r.reason, r.attempts, r.halts, r.cause
FROM OPENJSON(@P1) WITH (
    id bigint '$.v[0]', outcome nvarchar(16) '$.v[1]', reason nvarchar(max) '$.v[2]', attempts int '$.v[3]', halts tinyint '$.v[4]',
    cause bigint '$.v[5]'
) AS r

-- dead_cause
SELECT @P1 AS cause,
       (
           SELECT COUNT_BIG(*) FROM (
               SELECT TOP (@P2) 1 AS one FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
               WHERE d.discarded_at IS NULL AND d.cause = @P1
           ) AS counted
       ) AS few,
       (
           SELECT TOP (1) d.id FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
           WHERE d.discarded_at IS NULL AND d.cause = @P1
           ORDER BY d.id
       ) AS oldest,
       (
           SELECT TOP (1) d.id FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
           WHERE d.discarded_at IS NULL AND d.cause = @P1
           ORDER BY d.id DESC
       ) AS newest

-- dead_cause_next
SELECT TOP (1) cause
FROM [tenure_outbox_dead] WITH (INDEX (cause))
WHERE discarded_at IS NULL AND cause > @P1
ORDER BY cause

-- dead_causes
SELECT f.cause, f.few, f.oldest, f.newest
FROM (SELECT one.* FROM OPENJSON(@P1) WITH (v0 bigint '$.v[0]', v1 bigint '$.v[1]') AS branch
CROSS APPLY (
SELECT branch.v0 AS cause,
       (
           SELECT COUNT_BIG(*) FROM (
               SELECT TOP (branch.v1) 1 AS one FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
               WHERE d.discarded_at IS NULL AND d.cause = branch.v0
           ) AS counted
       ) AS few,
       (
           SELECT TOP (1) d.id FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
           WHERE d.discarded_at IS NULL AND d.cause = branch.v0
           ORDER BY d.id
       ) AS oldest,
       (
           SELECT TOP (1) d.id FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
           WHERE d.discarded_at IS NULL AND d.cause = branch.v0
           ORDER BY d.id DESC
       ) AS newest
) AS one) AS f;
DECLARE @changed1 bigint = ROWCOUNT_BIG();
SELECT 1 AS tenure_statement, @changed1 AS tenure_changed;

-- dead_delete
DELETE d FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_dead] AS d WITH (ROWLOCK) ON d.id = asked.id

-- dead_discard
UPDATE d SET discarded_at = @now, halts = 0 FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_dead] AS d WITH (ROWLOCK) ON d.id = asked.id

-- dead_find
SELECT q.id, CASE WHEN o.id IS NOT NULL AND (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6))) THEN 1 ELSE 0 END AS fits
FROM (
    SELECT TOP (@P3) d.id
    FROM [tenure_outbox_dead] AS d WITH (INDEX (discarded))
    WHERE d.discarded_at IS NULL AND d.id > @P1 AND d.id <= @P2
    ORDER BY d.id
) AS q
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = q.id
ORDER BY q.id

-- dead_find_cause
SELECT q.id, CASE WHEN o.id IS NOT NULL AND (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6))) THEN 1 ELSE 0 END AS fits
FROM (
    SELECT TOP (@P3) d.id
    FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
    WHERE d.discarded_at IS NULL AND d.cause = @P9 AND d.id > @P1 AND d.id <= @P2
    ORDER BY d.id
) AS q
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = q.id
ORDER BY q.id

-- dead_read
SELECT o.id, o.message_id, SUBSTRING(o.topic, 1, 300) AS topic, SUBSTRING(o.type, 1, 300) AS type, d.reason,
       CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END AS discarded, d.cause
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN [tenure_outbox_dead] AS d ON d.id = asked.id
INNER LOOP JOIN [tenure_outbox] AS o ON o.id = d.id
ORDER BY o.id

-- driver greeting
-- What a server is asked first: what it is, whether it can be written to, and where tables without a schema go.
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS version,
       CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), 4) AS int) AS major,
       CAST(SERVERPROPERTY('EngineEdition') AS int) AS edition,
       CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(60)) AS updateability,
       CAST((SELECT d.compatibility_level FROM sys.databases AS d WHERE d.database_id = DB_ID()) AS int) AS compatibility,
       CAST(
           (SELECT d.is_read_committed_snapshot_on FROM sys.databases AS d WHERE d.database_id = DB_ID()) AS int
       ) AS versions,
       SCHEMA_NAME() AS own_schema

-- driver lock_free
-- Whether a lock could be had in shared mode, without taking it: 1 if nobody holds it alone.
-- 1 name
SELECT APPLOCK_TEST(N'public', @P1, N'Shared', N'Session') AS free

-- driver lock_give
-- 1 name
DECLARE @own_given int;
EXEC @own_given = sp_releaseapplock @Resource = @P1, @LockOwner = N'Session';
SELECT @own_given AS given

-- driver lock_take
-- Takes a lock of the session, by name. It goes with the session, or is given back; it counts how often it was taken.
-- 1 name, 2 Exclusive or Shared, 3 for how many milliseconds to wait
DECLARE @own_taken int;
EXEC @own_taken = sp_getapplock @Resource = @P1, @LockMode = @P2, @LockOwner = N'Session', @LockTimeout = @P3;
SELECT @own_taken AS taken

-- driver open_transactions
-- How many transactions are open on this session.
SELECT @@TRANCOUNT AS transactions

-- driver ping
SELECT 1 AS alive

-- driver session
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON; SET NUMERIC_ROUNDABORT OFF; SET IMPLICIT_TRANSACTIONS OFF; SET NOCOUNT ON; SET XACT_ABORT ON; SET LANGUAGE us_english; SET TEXTSIZE 2147483647; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT 2000

-- driver walk
-- A walk as one text: each step costs a seek in the index, all of them one trip. The names in braces are statements of the list.
-- 1 after which source, 2 how many steps
DECLARE @walk_lane varbinary(500) = @B1, @walk_next varbinary(500);
DECLARE @own_step bigint = 0;
WHILE @own_step < @P2 AND @walk_lane IS NOT NULL
BEGIN
    SET @walk_next = (
    SELECT TOP (1) lane FROM [tenure_outbox_pending] WITH (INDEX (queue))
    WHERE lane > @walk_lane
    ORDER BY lane, place_a, place_b, id
);
    SET @walk_lane = @walk_next;
    SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
WHERE p.lane = @walk_lane
ORDER BY p.lane, p.place_a, p.place_b, p.id;
    SET @own_step = @own_step + 1;
END;
SELECT @walk_lane AS lane

-- events_add
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (any_id nvarchar(36) '$.v[3]') AS r
    INNER LOOP JOIN [tenure_events] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
        ON t.any_id = r.any_id COLLATE Latin1_General_100_BIN2 AND t.any_id IS NOT NULL
    WHERE r.any_id IS NOT NULL
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_events] WITH (ROWLOCK) (
    stream, version, event_id, any_id, type, schema_version, message_id, correlation, causation, headers, payload,
    payload_bytes
)
SELECT r.stream, r.version, r.event_id, r.any_id, r.type, r.schema_version, r.message_id, r.correlation, r.causation, r.headers,
       r.payload, r.payload_bytes
FROM OPENJSON(@P1) WITH (
    i int '$.i', stream varbinary(500) '$.b[0]', version bigint '$.v[1]', event_id nvarchar(36) '$.v[2]',
    any_id nvarchar(36) '$.v[3]', type nvarchar(250) '$.v[4]', schema_version int '$.v[5]', message_id nvarchar(36) '$.v[6]',
    correlation nvarchar(250) '$.v[7]', causation nvarchar(250) '$.v[8]', headers nvarchar(max) '$.v[9]',
    payload nvarchar(max) '$.v[10]', payload_bytes varbinary(max) '$.v[11]'
) AS r
ORDER BY r.i

-- events_all
SELECT e.position, e.stream, e.version, e.event_id, e.type, e.schema_version, e.message_id, e.correlation, e.causation, e.headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', e.recorded_at) AS recorded_us, e.payload, e.payload_bytes
FROM (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P2) v.position, v.bytes
        FROM [tenure_events] AS v WITH (READCOMMITTEDLOCK, ROWLOCK)
        WHERE v.position > @P1 AND v.position <= @all_horizon
        ORDER BY v.position
    ) AS sized
) AS page
INNER LOOP JOIN [tenure_events] AS e WITH (READCOMMITTEDLOCK, ROWLOCK) ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P3
ORDER BY e.position

-- events_backward
SELECT coalesce(s.version, 0) AS actual, e.position, e.stream, e.version, e.event_id, e.type, e.schema_version, e.message_id, e.correlation, e.causation, e.headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', e.recorded_at) AS recorded_us, e.payload, e.payload_bytes
FROM (SELECT 1 AS one) AS always
LEFT JOIN [tenure_streams] AS s ON s.stream = @B1
OUTER APPLY (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.version DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P3) v.position, v.version, v.bytes
        FROM [tenure_events] AS v
        WHERE v.stream = @B1 AND v.version <= @P2 AND v.version <= s.version
        ORDER BY v.version DESC
    ) AS sized
) AS page
LEFT JOIN [tenure_events] AS e ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P4
ORDER BY e.version DESC
OPTION (FORCE ORDER)

-- events_forward
SELECT coalesce(s.version, 0) AS actual, e.position, e.stream, e.version, e.event_id, e.type, e.schema_version, e.message_id, e.correlation, e.causation, e.headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', e.recorded_at) AS recorded_us, e.payload, e.payload_bytes
FROM (SELECT 1 AS one) AS always
LEFT JOIN [tenure_streams] AS s ON s.stream = @B1
OUTER APPLY (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.version ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P3) v.position, v.version, v.bytes
        FROM [tenure_events] AS v
        WHERE v.stream = @B1 AND v.version >= @P2 AND v.version <= s.version
        ORDER BY v.version ASC
    ) AS sized
) AS page
LEFT JOIN [tenure_events] AS e ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P4
ORDER BY e.version ASC
OPTION (FORCE ORDER)

-- events_given
SELECT e.stream, e.position
FROM OPENJSON(@P1) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
INNER LOOP JOIN [tenure_events] AS e ON e.stream = r.stream AND e.version = r.version

-- events_known
SELECT e.position, e.stream, e.version, e.event_id, e.type, e.payload, e.payload_bytes
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id nvarchar(36) '$')) AS asked
INNER LOOP JOIN [tenure_events] AS e WITH (READCOMMITTEDLOCK, ROWLOCK)
    ON e.any_id = asked.id COLLATE Latin1_General_100_BIN2 AND e.any_id IS NOT NULL
ORDER BY e.version

-- events_placed
SELECT MIN(position) AS first, MAX(position) AS last FROM [tenure_events] WHERE stream = @B1 AND version BETWEEN @P2 AND @P3

-- events_standing
SELECT position, stream, version, event_id, type, payload, payload_bytes
FROM [tenure_events] WITH (READCOMMITTEDLOCK, ROWLOCK)
WHERE stream = @B1 AND version > @P2 AND version <= @P3
ORDER BY version

-- events_story
SELECT e.position, e.stream, e.version, e.event_id, e.type, e.schema_version, e.message_id, e.correlation, e.causation, e.headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', e.recorded_at) AS recorded_us, e.payload, e.payload_bytes
FROM (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P3) v.position, v.bytes
        FROM [tenure_events] AS v WITH (INDEX (correlation))
        WHERE v.correlation IS NOT NULL
          AND v.correlation = @P1 AND DATALENGTH(v.correlation) = DATALENGTH(@P1)
          AND v.position > @P2
        ORDER BY v.position
    ) AS sized
) AS page
INNER LOOP JOIN [tenure_events] AS e ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P4
ORDER BY e.position

-- events_top
DECLARE @all_top bigint = (
    SELECT coalesce(max(position), 0) FROM [tenure_events] WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
);
SELECT @all_top AS [top]

-- fence_hold
SELECT term, [open] FROM [tenure_fences] WITH (REPEATABLEREAD, ROWLOCK) WHERE name = @B1

-- fence_lock
INSERT INTO [tenure_fences] (name, term, [open])
SELECT @B1, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM [tenure_fences] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1);
UPDATE [tenure_fences] WITH (ROWLOCK) SET term = term WHERE name = @B1

-- fence_write
UPDATE t
SET term = r.term, [open] = r.[open]
FROM OPENJSON(@P1) WITH (name varbinary(200) '$.b[0]', term bigint '$.v[1]', [open] tinyint '$.v[2]') AS r
INNER LOOP JOIN [tenure_fences] AS t WITH (ROWLOCK) ON t.name = r.name;
INSERT INTO [tenure_fences] (name, term, [open])
SELECT r.name, r.term, r.[open]
FROM OPENJSON(@P1) WITH (name varbinary(200) '$.b[0]', term bigint '$.v[1]', [open] tinyint '$.v[2]') AS r
WHERE NOT EXISTS (SELECT 1 FROM [tenure_fences] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.name = r.name)

-- fences_there
SELECT name FROM [tenure_fences] WITH (READUNCOMMITTED) WHERE name IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)

-- fences_try
SELECT f.name, f.term
FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN [tenure_fences] AS f WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON f.name = asked.name
ORDER BY f.name

-- fresh_any
SELECT CASE WHEN EXISTS (
           SELECT 1 FROM [tenure_outbox] WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK) WHERE fresh IS NOT NULL
       ) THEN 1 ELSE 0 END AS fresh,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us

-- fresh_clear
UPDATE o SET fresh = NULL FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox] AS o WITH (ROWLOCK) ON o.id = asked.id

-- fresh_hold
SELECT TOP (@P3) o.id, o.fresh, CASE WHEN coalesce(o.deliver_at, o.created_at) <= SYSUTCDATETIME() AND ((o.source_seq = 0 AND o.source_index = 0) OR CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END = 0x) THEN 1 ELSE 0 END AS comes
FROM [tenure_outbox] AS o WITH (INDEX (fresh), UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE o.fresh < @P1 OR (o.fresh = @P1 AND o.id > @P2)
ORDER BY o.fresh DESC, o.id

-- history_add
INSERT INTO [tenure_lease_history] (name, term, cause, node, incarnation, machine, pid, at)
SELECT r.name, r.term, r.cause, r.node, r.incarnation, r.machine, r.pid, r.at
FROM OPENJSON(@P1) WITH (
    i int '$.i', name varbinary(200) '$.b[0]', term bigint '$.v[1]', cause nvarchar(32) '$.v[2]', node nvarchar(200) '$.v[3]',
    incarnation nvarchar(64) '$.v[4]', machine nvarchar(max) '$.v[5]', pid bigint '$.v[6]', at datetime2(6) '$.v[7]'
) AS r
ORDER BY r.i

-- history_forget
DELETE h
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_lease_history] AS h WITH (ROWLOCK) ON h.id = asked.id

-- history_last_term
SELECT max(term) AS term FROM [tenure_lease_history] WHERE name = @B1

-- history_list
SELECT TOP (@P2) id, name, term, cause, node, incarnation, machine, pid,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us
FROM [tenure_lease_history]
WHERE id < @P1
ORDER BY id DESC

-- history_of
SELECT TOP (@P2) id, name, term, cause, node, incarnation, machine, pid,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us
FROM [tenure_lease_history] WITH (INDEX (name_id))
WHERE name = @B3 AND id < @P1
ORDER BY id DESC

-- history_old
SELECT h.id,
       CASE
           WHEN h.at > DATEADD(MICROSECOND, -CAST(@P3 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P3 / 60000000 AS int), @now)) THEN 2
           WHEN h.term < (SELECT max(l.term) FROM [tenure_lease_history] AS l WHERE l.name = h.name) THEN 1
           ELSE 0
       END AS fate
FROM (SELECT TOP (@P2) id, name, term, at FROM [tenure_lease_history] WHERE id > @P1 ORDER BY id) AS h
ORDER BY h.id

-- inbox_accept
IF EXISTS (SELECT 1 FROM [tenure_inbox] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_inbox] (consumer, message_id, fingerprint) VALUES (@B1, @P2, @P3)

-- inbox_delete
DELETE i FROM OPENJSON(@P2) WITH (id nvarchar(36) '$') AS asked
INNER LOOP JOIN [tenure_inbox] AS i WITH (ROWLOCK) ON i.message_id = asked.id COLLATE Latin1_General_100_BIN2
WHERE i.consumer = @B1
  AND i.accepted_at <= DATEADD(MICROSECOND, -CAST(@P3 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P3 / 60000000 AS int), @now))

-- inbox_old
SELECT TOP (@P2) consumer, message_id FROM [tenure_inbox] WITH (READPAST, READCOMMITTEDLOCK)
WHERE accepted_at <= DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
ORDER BY accepted_at

-- inbox_read
SELECT fingerprint, refused FROM [tenure_inbox] WITH (REPEATABLEREAD, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2

-- inbox_refuse
IF EXISTS (SELECT 1 FROM [tenure_inbox] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_inbox] (consumer, message_id, refused) VALUES (@B1, @P2, @P3)

-- lease_forgotten
SELECT TOP (@P2) name FROM [tenure_leases]
WHERE (backend <> @P1 OR origin_term IS NOT NULL) AND released_at IS NULL AND expires_at <= @now
ORDER BY name

-- lease_list
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, l.origin_epoch, l.origin_term, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM (SELECT 1 AS one) AS always
LEFT JOIN (
    SELECT TOP (@P4) * FROM [tenure_leases] WHERE name > @B1 AND name >= @B2 AND name < @B3 ORDER BY name
) AS l ON 1 = 1
ORDER BY l.name

-- lease_lock
SELECT name FROM [tenure_leases] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1

-- lease_read
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, l.origin_epoch, l.origin_term, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM (SELECT 1 AS one) AS always
LEFT JOIN [tenure_leases] AS l ON l.name = @B1

-- lease_renew
UPDATE [tenure_leases] WITH (ROWLOCK)
SET renewals = @P4,
    renewed_at = @now,
    expires_at = DATEADD(MICROSECOND, CAST(@P5 % 60000000 AS int), DATEADD(MINUTE, CAST(@P5 / 60000000 AS int), @now)),
    presence = @P6,
    presence_trust_ms = @P7
WHERE name = @B1
  AND term = @P2
  AND incarnation = @P3
  AND renewals < @P4
  AND released_at IS NULL
  AND revoked_at IS NULL
  AND expires_at > @now

-- lease_touch
UPDATE [tenure_leases] WITH (ROWLOCK)
SET renewed_at = @now,
    expires_at = DATEADD(MICROSECOND, CAST(@P4 % 60000000 AS int), DATEADD(MINUTE, CAST(@P4 / 60000000 AS int), @now))
WHERE name = @B1 AND term = @P2 AND claim = @P3 AND released_at IS NULL AND revoked_at IS NULL

-- lease_write
UPDATE t
SET term = r.term, node = r.node, incarnation = r.incarnation, claim = r.claim, renewals = r.renewals, machine = r.machine,
    pid = r.pid, kind = r.kind, backend = r.backend, acquired_at = r.acquired_at, renewed_at = r.renewed_at,
    expires_at = r.expires_at, released_at = r.released_at, revoked_at = r.revoked_at, presence = r.presence,
    presence_trust_ms = r.presence_trust_ms, origin_epoch = r.origin_epoch, origin_term = r.origin_term
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]', term bigint '$.v[1]', node nvarchar(200) '$.v[2]', incarnation nvarchar(64) '$.v[3]',
    claim nvarchar(64) '$.v[4]', renewals bigint '$.v[5]', machine nvarchar(max) '$.v[6]', pid bigint '$.v[7]',
    kind nvarchar(max) '$.v[8]', backend nvarchar(64) '$.v[9]', acquired_at datetime2(6) '$.v[10]',
    renewed_at datetime2(6) '$.v[11]', expires_at datetime2(6) '$.v[12]', released_at datetime2(6) '$.v[13]',
    revoked_at datetime2(6) '$.v[14]', presence nvarchar(64) '$.v[15]', presence_trust_ms int '$.v[16]',
    origin_epoch nvarchar(max) '$.v[17]', origin_term bigint '$.v[18]'
) AS r
INNER LOOP JOIN [tenure_leases] AS t WITH (ROWLOCK) ON t.name = r.name;
INSERT INTO [tenure_leases] (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms,
    origin_epoch, origin_term
)
SELECT r.name, r.term, r.node, r.incarnation, r.claim, r.renewals, r.machine, r.pid, r.kind, r.backend,
       r.acquired_at, r.renewed_at, r.expires_at, r.released_at, r.revoked_at, r.presence, r.presence_trust_ms,
       r.origin_epoch, r.origin_term
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]', term bigint '$.v[1]', node nvarchar(200) '$.v[2]', incarnation nvarchar(64) '$.v[3]',
    claim nvarchar(64) '$.v[4]', renewals bigint '$.v[5]', machine nvarchar(max) '$.v[6]', pid bigint '$.v[7]',
    kind nvarchar(max) '$.v[8]', backend nvarchar(64) '$.v[9]', acquired_at datetime2(6) '$.v[10]',
    renewed_at datetime2(6) '$.v[11]', expires_at datetime2(6) '$.v[12]', released_at datetime2(6) '$.v[13]',
    revoked_at datetime2(6) '$.v[14]', presence nvarchar(64) '$.v[15]', presence_trust_ms int '$.v[16]',
    origin_epoch nvarchar(max) '$.v[17]', origin_term bigint '$.v[18]'
) AS r
WHERE NOT EXISTS (SELECT 1 FROM [tenure_leases] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.name = r.name)

-- leases_hold
SELECT l.name, l.term
FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN [tenure_leases] AS l WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON l.name = asked.name
ORDER BY l.name

-- leases_named
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, l.origin_epoch, l.origin_term FROM (SELECT DISTINCT name FROM OPENJSON(@B1) WITH (name varbinary(200) '$')) AS asked
INNER LOOP JOIN [tenure_leases] AS l ON l.name = asked.name

-- mark_add
IF EXISTS (SELECT 1 FROM [tenure_inbox] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_inbox] (consumer, message_id, fingerprint, refused, accepted_at) VALUES (@B1, @P2, @P3, @P4, @now)

-- marks_add
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (consumer varbinary(200) '$.b[0]', message_id nvarchar(36) '$.v[1]') AS r
    INNER LOOP JOIN [tenure_inbox] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
        ON t.consumer = r.consumer AND t.message_id = r.message_id COLLATE Latin1_General_100_BIN2
) OR EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (consumer varbinary(200) '$.b[0]', message_id nvarchar(36) '$.v[1]') AS r
    GROUP BY r.consumer, r.message_id HAVING COUNT(*) > 1
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_inbox] (consumer, message_id, fingerprint, refused)
SELECT r.consumer, r.message_id, r.fingerprint, r.refused
FROM OPENJSON(@P1) WITH (
    i int '$.i', consumer varbinary(200) '$.b[0]', message_id nvarchar(36) '$.v[1]', fingerprint nvarchar(36) '$.v[2]',
    refused nvarchar(max) '$.v[3]'
) AS r
ORDER BY r.i

-- migrations
-- 0001 leases, their history, audit
IF OBJECT_ID(N'[tenure_schema]', N'U') IS NULL
CREATE TABLE [tenure_schema] (
    version     int NOT NULL PRIMARY KEY,
    description nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    applied_at  datetime2(6) NOT NULL
);
IF OBJECT_ID(N'[tenure_leases]', N'U') IS NULL
CREATE TABLE [tenure_leases] (
    name              varbinary(200) NOT NULL PRIMARY KEY,
    term              bigint NOT NULL,
    node              nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    incarnation       nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    claim             nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    renewals          bigint NOT NULL DEFAULT 0,
    machine           nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid               bigint NOT NULL,
    kind              nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    backend           nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    acquired_at       datetime2(6) NOT NULL,
    renewed_at        datetime2(6) NOT NULL,
    expires_at        datetime2(6) NOT NULL,
    released_at       datetime2(6) NULL,
    revoked_at        datetime2(6) NULL,
    presence          nvarchar(64) COLLATE Latin1_General_100_BIN2 NULL,
    presence_trust_ms int NULL
);
ALTER TABLE [tenure_leases] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_fences]', N'U') IS NULL
CREATE TABLE [tenure_fences] (
    name   varbinary(200) NOT NULL PRIMARY KEY,
    term   bigint NOT NULL,
    [open] tinyint NOT NULL
);
ALTER TABLE [tenure_fences] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_lease_history]', N'U') IS NULL
CREATE TABLE [tenure_lease_history] (
    id          bigint IDENTITY NOT NULL PRIMARY KEY,
    name        varbinary(200) NOT NULL,
    term        bigint NOT NULL,
    cause       nvarchar(32) COLLATE Latin1_General_100_BIN2 NOT NULL,
    node        nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    incarnation nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    machine     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid         bigint NOT NULL,
    at          datetime2(6) NOT NULL,
    INDEX name_term (name, term),
    INDEX name_id (name, id)
);
IF OBJECT_ID(N'[tenure_audit]', N'U') IS NULL
CREATE TABLE [tenure_audit] (
    id      bigint IDENTITY NOT NULL PRIMARY KEY,
    at      datetime2(6) NOT NULL,
    actor   nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    action  nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    subject nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    detail  nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL
);
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (1, 'leases, their history, audit', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0002 outbox, inbox
IF OBJECT_ID(N'[tenure_outbox]', N'U') IS NULL
CREATE TABLE [tenure_outbox] (
    id            bigint IDENTITY NOT NULL PRIMARY KEY,
    message_id    nvarchar(64) COLLATE Latin1_General_100_CI_AS NOT NULL DEFAULT CONVERT(nvarchar(36), NEWID()),
    source        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    source_seq    bigint NOT NULL DEFAULT 0,
    source_index  int NOT NULL DEFAULT 0,
    topic         nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    type          nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    payload       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    payload_bytes varbinary(max) NULL,
    content_type  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    headers       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    deliver_at    datetime2(6) NULL,
    created_at    datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    fresh         tinyint NULL DEFAULT 1,
    INDEX message_id UNIQUE (message_id),
    INDEX fresh (fresh, id)
);
ALTER TABLE [tenure_outbox] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_outbox_pending]', N'U') IS NULL
CREATE TABLE [tenure_outbox_pending] (
    id       bigint NOT NULL PRIMARY KEY,
    lane     varbinary(500) NOT NULL,
    place_a  bigint NOT NULL,
    place_b  int NOT NULL,
    queued   tinyint NOT NULL DEFAULT 1,
    due_us   bigint NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    forgiven int NOT NULL DEFAULT 0,
    INDEX queue (lane, place_a, place_b, id),
    CHECK (queued IN (1, 2)),
    CHECK (attempts >= 0 AND forgiven >= 0)
);
ALTER TABLE [tenure_outbox_pending] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_outbox_attempts]', N'U') IS NULL
CREATE TABLE [tenure_outbox_attempts] (
    message bigint NOT NULL,
    number  int NOT NULL,
    at      datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    outcome nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    took_us bigint NOT NULL,
    node    nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    term    bigint NULL,
    error   nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    PRIMARY KEY (message, number)
);
ALTER TABLE [tenure_outbox_attempts] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_outbox_dead]', N'U') IS NULL
CREATE TABLE [tenure_outbox_dead] (
    id           bigint NOT NULL PRIMARY KEY,
    died_at      datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    outcome      nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    reason       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    attempts     int NOT NULL,
    halts        tinyint NOT NULL,
    discarded_at datetime2(6) NULL,
    INDEX discarded (discarded_at, id)
);
IF OBJECT_ID(N'[tenure_inbox]', N'U') IS NULL
CREATE TABLE [tenure_inbox] (
    consumer    varbinary(200) NOT NULL,
    message_id  nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    fingerprint nvarchar(36) COLLATE Latin1_General_100_BIN2 NULL,
    refused     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    accepted_at datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    PRIMARY KEY (consumer, message_id),
    INDEX accepted_at (accepted_at)
);
ALTER TABLE [tenure_inbox] SET (LOCK_ESCALATION = DISABLE);
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (2, 'outbox, inbox', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0003 events, snapshots, checkpoints
IF OBJECT_ID(N'[tenure_streams]', N'U') IS NULL
CREATE TABLE [tenure_streams] (
    stream  varbinary(500) NOT NULL PRIMARY KEY,
    version bigint NOT NULL
);
ALTER TABLE [tenure_streams] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_events]', N'U') IS NULL
CREATE TABLE [tenure_events] (
    position       bigint IDENTITY NOT NULL PRIMARY KEY,
    stream         varbinary(500) NOT NULL,
    version        bigint NOT NULL,
    event_id       nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    any_id         nvarchar(36) COLLATE Latin1_General_100_BIN2 NULL,
    type           nvarchar(250) COLLATE Latin1_General_100_BIN2 NOT NULL,
    schema_version int NOT NULL,
    message_id     nvarchar(36) COLLATE Latin1_General_100_BIN2 NULL,
    correlation    nvarchar(250) COLLATE Latin1_General_100_BIN2 NULL,
    causation      nvarchar(250) COLLATE Latin1_General_100_BIN2 NULL,
    headers        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    recorded_at    datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    payload        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    payload_bytes  varbinary(max) NULL,
    bytes          AS CAST(coalesce(DATALENGTH(payload) / 2, DATALENGTH(payload_bytes), 0) AS bigint) PERSISTED,
    CONSTRAINT tenure_events_stream_version UNIQUE (stream, version)
);
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[tenure_events]') AND name = N'any_id')
CREATE UNIQUE INDEX any_id ON [tenure_events] (any_id) WHERE any_id IS NOT NULL;
ALTER TABLE [tenure_events] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_append_slots]', N'U') IS NULL
CREATE TABLE [tenure_append_slots] (
    slot     bigint IDENTITY(129, 1) NOT NULL PRIMARY KEY,
    uses     bigint NOT NULL,
    floor    bigint NOT NULL,
    holder   bigint NOT NULL,
    taken_at datetime2(6) NOT NULL
);
ALTER TABLE [tenure_append_slots] SET (LOCK_ESCALATION = DISABLE);
SET IDENTITY_INSERT [tenure_append_slots] ON
INSERT INTO [tenure_append_slots] (slot, uses, floor, holder, taken_at)
SELECT n.slot, 0, 0, 0, '1970-01-01'
FROM (
    SELECT CAST(a.[key] AS int) * 16 + CAST(b.[key] AS int) + 1 AS slot
    FROM OPENJSON(N'[0,0,0,0,0,0,0,0]') AS a
    CROSS JOIN OPENJSON(N'[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]') AS b
) AS n
WHERE NOT EXISTS (SELECT 1 FROM [tenure_append_slots] AS t WITH (UPDLOCK, HOLDLOCK) WHERE t.slot = n.slot)
SET IDENTITY_INSERT [tenure_append_slots] OFF;
IF OBJECT_ID(N'[tenure_snapshots]', N'U') IS NULL
CREATE TABLE [tenure_snapshots] (
    stream         varbinary(500) NOT NULL PRIMARY KEY,
    version        bigint NOT NULL,
    type           nvarchar(250) COLLATE Latin1_General_100_BIN2 NOT NULL,
    schema_version int NOT NULL,
    payload        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    payload_bytes  varbinary(max) NULL,
    taken_at       datetime2(6) NOT NULL
);
IF OBJECT_ID(N'[tenure_checkpoints]', N'U') IS NULL
CREATE TABLE [tenure_checkpoints] (
    name     varbinary(200) NOT NULL PRIMARY KEY,
    position bigint NOT NULL,
    rewinds  bigint NOT NULL DEFAULT 0,
    moved_at datetime2(6) NOT NULL
);
IF OBJECT_ID(N'[tenure_parked]', N'U') IS NULL
CREATE TABLE [tenure_parked] (
    subscription varbinary(200) NOT NULL,
    position     bigint NOT NULL,
    stream       varbinary(500) NOT NULL,
    version      bigint NOT NULL,
    type         nvarchar(250) COLLATE Latin1_General_100_BIN2 NOT NULL,
    attempts     int NOT NULL,
    reason       nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    parked_at    datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    PRIMARY KEY (subscription, position)
);
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (3, 'events, snapshots, checkpoints', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0005 nodes and daemons
IF OBJECT_ID(N'[tenure_cluster]', N'U') IS NULL
CREATE TABLE [tenure_cluster] (
    id       int NOT NULL PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);
INSERT INTO [tenure_cluster] (id, revision)
SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM [tenure_cluster] WITH (UPDLOCK, HOLDLOCK) WHERE id = 1);
IF OBJECT_ID(N'[tenure_nodes]', N'U') IS NULL
CREATE TABLE [tenure_nodes] (
    name        varbinary(200) NOT NULL PRIMARY KEY,
    incarnation nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    term        bigint NOT NULL,
    machine     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid         bigint NOT NULL,
    labels      nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    version     nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    capacity    bigint NOT NULL,
    leads       tinyint NOT NULL,
    agents      nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    leaving     tinyint NOT NULL,
    joined_at   datetime2(6) NOT NULL,
    revision    bigint NOT NULL
);
ALTER TABLE [tenure_nodes] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_assignments]', N'U') IS NULL
CREATE TABLE [tenure_assignments] (
    daemon     varbinary(200) NOT NULL PRIMARY KEY,
    state      nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL
               CHECK (state IN (N'unassigned', N'assigning', N'active', N'revoking')),
    node       varbinary(200) NULL,
    node_term  bigint NULL,
    generation bigint NULL,
    next_node  varbinary(200) NULL,
    deadline   datetime2(6) NULL,
    reason     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    since      datetime2(6) NOT NULL,
    weight     bigint NOT NULL,
    labels     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    group_name varbinary(200) NULL,
    layout     bigint NULL,
    paused_by  nvarchar(200) COLLATE Latin1_General_100_BIN2 NULL,
    pinned_to  nvarchar(200) COLLATE Latin1_General_100_BIN2 NULL,
    retired    tinyint NOT NULL,
    failures   bigint NOT NULL,
    avoids     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    moves      bigint NOT NULL,
    revision   bigint NOT NULL,
    INDEX revision_daemon (revision, daemon),
    INDEX node (node),
    INDEX next_node (next_node),
    INDEX group_name (group_name),
    CHECK ((node IS NULL AND node_term IS NULL) OR (node IS NOT NULL AND node_term IS NOT NULL)),
    CHECK ((group_name IS NULL AND layout IS NULL) OR (group_name IS NOT NULL AND layout IS NOT NULL))
);
ALTER TABLE [tenure_assignments] SET (LOCK_ESCALATION = DISABLE);
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (5, 'nodes and daemons', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0006 what leases of other places were granted as
IF COL_LENGTH(N'[tenure_leases]', N'origin_term') IS NULL
ALTER TABLE [tenure_leases] ADD
    origin_epoch nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    origin_term  bigint NULL;
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (6, 'what leases of other places were granted as', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0007 what a dashboard needs: runners, causes of death, stories
IF OBJECT_ID(N'[tenure_runners]', N'U') IS NULL
CREATE TABLE [tenure_runners] (
    node        varbinary(200) NOT NULL,
    incarnation nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    kind        nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    name        varbinary(200) NOT NULL,
    machine     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid         bigint NOT NULL,
    state       nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    trouble     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    every_ms    bigint NOT NULL,
    cycled_ms   bigint NULL,
    advanced_ms bigint NULL,
    counters    nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    started_at  datetime2(6) NOT NULL,
    seen_at     datetime2(6) NOT NULL,
    PRIMARY KEY (node, incarnation, kind, name)
);
IF COL_LENGTH(N'[tenure_outbox_dead]', N'cause') IS NULL
ALTER TABLE [tenure_outbox_dead] ADD
    cause bigint NOT NULL DEFAULT 0;
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[tenure_outbox_dead]') AND name = N'cause')
CREATE INDEX cause ON [tenure_outbox_dead] (cause, id) WHERE discarded_at IS NULL;
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[tenure_events]') AND name = N'correlation')
CREATE INDEX correlation ON [tenure_events] (correlation, position) WHERE correlation IS NOT NULL;
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (7, 'what a dashboard needs: runners, causes of death, stories', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0008 fresh messages stand first in their index
CREATE INDEX fresh ON [tenure_outbox] (fresh DESC, id) WITH (DROP_EXISTING = ON);
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (8, 'fresh messages stand first in their index', SYSUTCDATETIME());
COMMIT TRANSACTION;
-- 0009 what has just come is a list
IF OBJECT_ID(N'[tenure_outbox_arrivals]', N'U') IS NULL
CREATE TABLE [tenure_outbox_arrivals] (
    id     bigint NOT NULL PRIMARY KEY,
    listed tinyint NOT NULL DEFAULT 1
);
ALTER TABLE [tenure_outbox_arrivals] SET (LOCK_ESCALATION = DISABLE);
BEGIN TRANSACTION;
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (9, 'what has just come is a list', SYSUTCDATETIME());
COMMIT TRANSACTION;

-- must_have_met
IF @before <> 1 BEGIN SELECT 1 AS tenure_unmet; RETURN; END

-- nodes_delete
DELETE n FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN [tenure_nodes] AS n WITH (ROWLOCK) ON n.name = asked.name

-- nodes_write
UPDATE t
SET incarnation = r.incarnation,
    term = r.term,
    machine = r.machine,
    pid = r.pid,
    labels = r.labels,
    version = r.version,
    capacity = r.capacity,
    leads = r.leads,
    agents = r.agents,
    leaving = r.leaving,
    joined_at = r.joined_at,
    revision = r.revision
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    term bigint '$.v[2]',
    machine nvarchar(max) '$.v[3]',
    pid bigint '$.v[4]',
    labels nvarchar(max) '$.v[5]',
    version nvarchar(200) '$.v[6]',
    capacity bigint '$.v[7]',
    leads tinyint '$.v[8]',
    agents nvarchar(max) '$.v[9]',
    leaving tinyint '$.v[10]',
    joined_at datetime2(6) '$.v[11]',
    revision bigint '$.v[12]'
) AS r
INNER LOOP JOIN [tenure_nodes] AS t WITH (ROWLOCK) ON t.name = r.name;
INSERT INTO [tenure_nodes] (name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, joined_at, revision)
SELECT r.name, r.incarnation, r.term, r.machine, r.pid, r.labels, r.version, r.capacity, r.leads, r.agents, r.leaving, r.joined_at, r.revision
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    term bigint '$.v[2]',
    machine nvarchar(max) '$.v[3]',
    pid bigint '$.v[4]',
    labels nvarchar(max) '$.v[5]',
    version nvarchar(200) '$.v[6]',
    capacity bigint '$.v[7]',
    leads tinyint '$.v[8]',
    agents nvarchar(max) '$.v[9]',
    leaving tinyint '$.v[10]',
    joined_at datetime2(6) '$.v[11]',
    revision bigint '$.v[12]'
) AS r
WHERE NOT EXISTS (SELECT 1 FROM [tenure_nodes] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.name = r.name)

-- orphans_delete
DELETE p
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (ROWLOCK) ON p.id = asked.id

-- orphans_hold
SELECT p.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (UPDLOCK, ROWLOCK) ON p.id = asked.id
LEFT LOOP JOIN [tenure_outbox] AS o WITH (READCOMMITTEDLOCK) ON o.id = p.id
LEFT LOOP JOIN [tenure_outbox_arrivals] AS n WITH (READCOMMITTEDLOCK) ON n.id = p.id
WHERE o.id IS NULL OR n.id IS NOT NULL

-- outbox_again
UPDATE [tenure_outbox_pending] WITH (ROWLOCK)
SET attempts = attempts + 1,
    due_us = DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) + @P2,
    place_a = CASE WHEN lane = 0x THEN DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) + @P2 ELSE place_a END
WHERE id = @P1

-- outbox_any
SELECT CASE WHEN EXISTS (SELECT 1 FROM [tenure_outbox_pending] WITH (READPAST, READCOMMITTEDLOCK))
              OR EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] WITH (READPAST, READCOMMITTEDLOCK)) THEN 1 ELSE 0 END AS found,
       CASE WHEN EXISTS (
           SELECT 1 FROM [tenure_outbox] WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK) WHERE fresh IS NOT NULL
       ) THEN 1 ELSE 0 END AS fresh,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us

-- outbox_between
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
WHERE p.lane > ISNULL(@B1, 0x) AND p.lane < @B2
ORDER BY p.lane, p.place_a, p.place_b, p.id

-- outbox_clock
SELECT DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us

-- outbox_content
SELECT o.content_type, o.headers, SUBSTRING(o.payload, 1, @P2) AS payload, SUBSTRING(o.payload_bytes, 1, @P2) AS payload_bytes,
       coalesce(
           DATALENGTH(CONVERT(varchar(max), o.payload COLLATE Latin1_General_100_BIN2_UTF8)), DATALENGTH(o.payload_bytes), 0
       ) AS payload_size
FROM [tenure_outbox] AS o
WHERE o.id = @P1

-- outbox_delete
DELETE o FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox] AS o WITH (ROWLOCK) ON o.id = asked.id

-- outbox_existing
SELECT o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type, o.payload, o.payload_bytes, o.content_type,
       o.headers
FROM OPENJSON(@P1) WITH (id nvarchar(64) '$') AS asked
INNER LOOP JOIN [tenure_outbox] AS o WITH (REPEATABLEREAD, ROWLOCK) ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS

-- outbox_finish
DELETE p FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (ROWLOCK) ON p.id = asked.id
WHERE p.queued = 1 AND p.attempts = @P2

-- outbox_freshen
UPDATE o SET fresh = 1 FROM [tenure_outbox] AS o WITH (ROWLOCK) WHERE o.id = @P1

-- outbox_halt
UPDATE p SET queued = 2, attempts = p.attempts + 1 FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (ROWLOCK) ON p.id = asked.id

-- outbox_head
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
WHERE p.lane = @B1
ORDER BY p.lane, p.place_a, p.place_b, p.id

-- outbox_heads
SELECT f.lane, f.queued, f.due_us, f.id
FROM (SELECT one.* FROM OPENJSON(@P1) WITH (b0 varbinary(8000) '$.v[0]') AS branch
CROSS APPLY (
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
WHERE p.lane = branch.b0
ORDER BY p.lane, p.place_a, p.place_b, p.id
) AS one) AS f;
DECLARE @changed1 bigint = ROWCOUNT_BIG();
SELECT 1 AS tenure_statement, @changed1 AS tenure_changed;

-- outbox_heads between
SELECT f.lane, f.queued, f.due_us, f.id
FROM (SELECT one.* FROM OPENJSON(@P1) WITH (b0 varbinary(8000) '$.v[0]', b1 varbinary(8000) '$.v[1]') AS branch
CROSS APPLY (
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
WHERE p.lane > ISNULL(branch.b0, 0x) AND p.lane < branch.b1
ORDER BY p.lane, p.place_a, p.place_b, p.id
) AS one) AS f;
DECLARE @changed1 bigint = ROWCOUNT_BIG();
SELECT 1 AS tenure_statement, @changed1 AS tenure_changed;

-- outbox_insert
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (message_id nvarchar(64) '$.v[0]') AS r
    INNER LOOP JOIN [tenure_outbox] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON t.message_id = r.message_id COLLATE Latin1_General_100_CI_AS
) OR EXISTS (
    SELECT 1 FROM OPENJSON(@P1) WITH (message_id nvarchar(64) '$.v[0]') AS r
    GROUP BY r.message_id COLLATE Latin1_General_100_CI_AS HAVING COUNT(*) > 1
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_outbox] (
    message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, deliver_at,
    fresh
)
SELECT r.message_id, r.source, r.source_seq, r.source_index, r.topic, r.type, r.payload, r.payload_bytes, r.content_type,
       r.headers, r.deliver_at, r.fresh
FROM OPENJSON(@P1) WITH (
    i int '$.i', message_id nvarchar(64) '$.v[0]', source nvarchar(max) '$.v[1]', source_seq bigint '$.v[2]',
    source_index int '$.v[3]', topic nvarchar(max) '$.v[4]', type nvarchar(max) '$.v[5]', payload nvarchar(max) '$.v[6]',
    payload_bytes varbinary(max) '$.v[7]', content_type nvarchar(max) '$.v[8]', headers nvarchar(max) '$.v[9]',
    deliver_at datetime2(6) '$.v[10]', fresh tinyint '$.v[11]'
) AS r
ORDER BY r.i

-- outbox_insert_one
IF EXISTS (
    SELECT 1 FROM [tenure_outbox] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.message_id = @P1 COLLATE Latin1_General_100_CI_AS
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_outbox] (message_id, source, topic, type, payload, content_type, headers, fresh)
VALUES (@P1, @P2, @P3, @P4, @P5, @P6, @P7, NULL)

-- outbox_lane
SELECT TOP (@P5) id
FROM [tenure_outbox_pending] WITH (INDEX (queue))
WHERE lane = @B1
  AND place_a >= @P2
  AND (place_a > @P2 OR (place_a = @P2 AND place_b > @P3) OR (place_a = @P2 AND place_b = @P3 AND id > @P4))
ORDER BY lane, place_a, place_b, id

-- outbox_lane_head
SELECT TOP (@P2) id
FROM [tenure_outbox_pending] WITH (INDEX (queue))
WHERE lane = @B1
ORDER BY lane, place_a, place_b, id

-- outbox_lanes
SELECT p.id, p.lane, CASE WHEN o.id IS NULL OR n.id IS NOT NULL THEN 4 ELSE p.queued END AS queued, p.due_us, p.attempts, p.forgiven, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
FROM (SELECT one.* FROM OPENJSON(@P1) WITH (v4 bigint '$.v[4]', b0 varbinary(8000) '$.v[0]', v1 bigint '$.v[1]', v2 bigint '$.v[2]', v3 bigint '$.v[3]') AS branch
CROSS APPLY (
SELECT TOP (branch.v4) id
FROM [tenure_outbox_pending] WITH (INDEX (queue))
WHERE lane = branch.b0
  AND place_a >= branch.v1
  AND (place_a > branch.v1 OR (place_a = branch.v1 AND place_b > branch.v2) OR (place_a = branch.v1 AND place_b = branch.v2 AND id > branch.v3))
ORDER BY lane, place_a, place_b, id
) AS one) AS f
INNER LOOP JOIN [tenure_outbox_pending] AS p ON p.id = f.id
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = f.id
LEFT LOOP JOIN [tenure_outbox_arrivals] AS n ON n.id = f.id
UNION ALL
SELECT fresh.* FROM (
    SELECT TOP (@P2) o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, 3 AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, N'' COLLATE Latin1_General_100_CI_AS AS message_id, CASE WHEN DATALENGTH(o.source) <= 1000 THEN o.source END AS source, o.source_seq, o.source_index, N'' COLLATE Latin1_General_100_BIN2 AS topic, N'' COLLATE Latin1_General_100_BIN2 AS type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS content_type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS headers, 0 AS created_us, 0 AS shape, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS payload, CAST(NULL AS varbinary(max)) AS payload_bytes
    FROM [tenure_outbox] AS o WITH (INDEX (fresh))
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
) AS fresh
UNION ALL
SELECT listed.* FROM (
    SELECT TOP (@P3) o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, 3 AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, N'' COLLATE Latin1_General_100_CI_AS AS message_id, CASE WHEN DATALENGTH(o.source) <= 1000 THEN o.source END AS source, o.source_seq, o.source_index, N'' COLLATE Latin1_General_100_BIN2 AS topic, N'' COLLATE Latin1_General_100_BIN2 AS type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS content_type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS headers, 0 AS created_us, 0 AS shape, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS payload, CAST(NULL AS varbinary(max)) AS payload_bytes
    FROM [tenure_outbox_arrivals] AS a
    INNER LOOP JOIN [tenure_outbox] AS o ON o.id = a.id
    ORDER BY a.id
) AS listed;
DECLARE @changed1 bigint = ROWCOUNT_BIG();
SELECT 1 AS tenure_statement, @changed1 AS tenure_changed;

-- outbox_list
SELECT f.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, f.fits, f.looked, f.found
FROM (
    SELECT w.id, w.fits, COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked, SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found, LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
    FROM (
        SELECT TOP (@P3) o.id,
               CASE
                   WHEN (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6)))
                    AND (@P10 = 0 OR (
                        o.fresh IS NULL
                        AND NOT EXISTS (SELECT 1 FROM [tenure_outbox_pending] AS p WHERE p.id = o.id)
                        AND NOT EXISTS (SELECT 1 FROM [tenure_outbox_arrivals] AS n WHERE n.id = o.id)
                        AND NOT EXISTS (SELECT 1 FROM [tenure_outbox_dead] AS d WHERE d.id = o.id)
                    ))
                   THEN 1 ELSE 0
               END AS fits
        FROM [tenure_outbox] AS o
        WHERE o.id < @P1 AND o.id > @P2
        ORDER BY o.id DESC
    ) AS w
) AS f
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC

-- outbox_list_cause
SELECT f.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, f.fits, f.looked, f.found
FROM (
    SELECT w.id, w.fits, COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked, SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found, LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6))) THEN 1 ELSE 0 END AS fits
        FROM (
            SELECT TOP (@P3) d.id
            FROM [tenure_outbox_dead] AS d WITH (INDEX (cause))
            WHERE d.discarded_at IS NULL AND d.cause = @P10 AND d.id < @P1 AND d.id > @P2
            ORDER BY d.id DESC
        ) AS q
        LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = q.id
    ) AS w
) AS f
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC

-- outbox_list_dead
SELECT f.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, f.fits, f.looked, f.found
FROM (
    SELECT w.id, w.fits, COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked, SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found, LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6))) THEN 1 ELSE 0 END AS fits
        FROM (
            SELECT TOP (@P3) d.id
            FROM [tenure_outbox_dead] AS d WITH (INDEX (discarded))
            WHERE d.discarded_at IS NULL AND d.id < @P1 AND d.id > @P2
            ORDER BY d.id DESC
        ) AS q
        LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = q.id
    ) AS w
) AS f
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC

-- outbox_list_discarded
SELECT f.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, f.fits, f.looked, f.found
FROM (
    SELECT w.id, w.fits, COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked, SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found, LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6))) THEN 1 ELSE 0 END AS fits
        FROM (
            SELECT TOP (@P3) d.id, CASE WHEN d.discarded_at IS NOT NULL THEN d.id END AS message
            FROM [tenure_outbox_dead] AS d
            WHERE d.id < @P1 AND d.id > @P2
            ORDER BY d.id DESC
        ) AS q
        LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = q.message
    ) AS w
) AS f
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC

-- outbox_list_pending
SELECT f.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, f.fits, f.looked, f.found
FROM (
    SELECT w.id, w.fits, COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked, SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found, LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND (@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5))) AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6))) AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6))) THEN 1 ELSE 0 END AS fits
        FROM (
            SELECT TOP (@P3) either.id
            FROM (
                SELECT waiting.id
                FROM (
                    SELECT TOP (@P3) p.id
                    FROM [tenure_outbox_pending] AS p
                    WHERE p.id < @P1 AND p.id > @P2 AND p.queued = 1
                    ORDER BY p.id DESC
                ) AS waiting
                UNION
                SELECT came.id
                FROM (
                    SELECT TOP (@P3) a.id
                    FROM [tenure_outbox_arrivals] AS a
                    WHERE a.id < @P1 AND a.id > @P2
                    ORDER BY a.id DESC
                ) AS came
                UNION
                SELECT added.id
                FROM (
                    SELECT TOP (@P3) n.id
                    FROM [tenure_outbox] AS n WITH (INDEX (fresh))
                    WHERE n.fresh IS NOT NULL AND n.fresh = 1 AND n.id < @P1 AND n.id > @P2
                    ORDER BY n.id DESC
                ) AS added
            ) AS either
            ORDER BY either.id DESC
        ) AS q
        LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = q.id
    ) AS w
) AS f
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC

-- outbox_load
SELECT DATALENGTH(u.payload) AS text_size, DATALENGTH(o.payload_bytes) AS bytes_size,
       CASE WHEN DATALENGTH(u.payload) <= @P2 THEN o.payload END AS payload,
       CASE WHEN DATALENGTH(o.payload_bytes) <= @P2 THEN o.payload_bytes END AS payload_bytes
FROM [tenure_outbox] AS o
CROSS APPLY (SELECT CONVERT(varchar(max), o.payload COLLATE Latin1_General_100_BIN2_UTF8) AS payload) AS u
WHERE o.id = @P1

-- outbox_lock
SELECT o.id,
       CASE WHEN n.id IS NOT NULL THEN 5 WHEN p.id IS NOT NULL THEN p.queued WHEN o.fresh IS NOT NULL THEN 3 ELSE 0 END AS queued,
       CASE WHEN n.id IS NOT NULL THEN 0 ELSE p.attempts END AS attempts,
       CASE
           WHEN n.id IS NOT NULL THEN CASE WHEN CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END = 0x THEN 0 ELSE 1 END
           WHEN p.lane IS NULL THEN NULL WHEN p.lane = 0x THEN 0 ELSE 1
       END AS ordered
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox] AS o WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON o.id = asked.id
LEFT LOOP JOIN [tenure_outbox_arrivals] AS n WITH (UPDLOCK, ROWLOCK) ON n.id = o.id
LEFT LOOP JOIN [tenure_outbox_pending] AS p WITH (UPDLOCK, ROWLOCK) ON p.id = o.id
ORDER BY o.id

-- outbox_names
SELECT s.lane, COUNT_BIG(*) AS stretch_rows
FROM (
    SELECT TOP (@P2) p.lane
    FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
    WHERE p.lane > @B1
    ORDER BY p.lane, p.place_a, p.place_b, p.id
) AS s
GROUP BY s.lane

-- outbox_number
SELECT id FROM [tenure_outbox] WHERE message_id = @P1

-- outbox_numbers
SELECT o.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id nvarchar(64) '$')) AS asked
INNER LOOP JOIN [tenure_outbox] AS o ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS

-- outbox_pulse
SELECT waits.looked, waits.pending, waits.retrying, waits.oldest_us, waits.now_us, graves.dead, graves.halted_sources, graves.newest
FROM (
    SELECT COUNT_BIG(w.id) AS looked,
           coalesce(sum(CASE WHEN w.queued = 1 AND o.id IS NOT NULL THEN 1 ELSE 0 END), 0) AS pending,
           coalesce(sum(CASE WHEN w.queued = 1 AND o.id IS NOT NULL AND w.attempts > 0 THEN 1 ELSE 0 END), 0) AS retrying,
           min(
               CASE WHEN w.queued = 1 AND o.id IS NOT NULL AND h.lane IS NULL AND (w.attempts > 0 OR w.due_us <= clock.now_us)
               THEN nullif(CASE WHEN w.attempts > 0 THEN coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0) ELSE w.due_us END, 0) END
           ) AS oldest_us,
           max(clock.now_us) AS now_us
    FROM (SELECT DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us) AS clock
    LEFT JOIN (
        SELECT waiting.id, waiting.lane, waiting.queued, waiting.due_us, waiting.attempts
        FROM (
            SELECT TOP (@P1) p.id, p.lane, p.queued, p.due_us, p.attempts
            FROM [tenure_outbox_pending] AS p WITH (READPAST, READCOMMITTEDLOCK)
            ORDER BY p.id
        ) AS waiting
        UNION ALL
        SELECT came.id, came.lane, 1, came.due_us, 0
        FROM (
            SELECT TOP (@P1) a.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0) AS due_us
            FROM [tenure_outbox_arrivals] AS a WITH (READPAST, READCOMMITTEDLOCK)
            LEFT JOIN [tenure_outbox] AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = a.id
            ORDER BY a.id
        ) AS came
        UNION ALL
        SELECT added.id, added.lane, 1, added.due_us, 0
        FROM (
            SELECT TOP (@P1) o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0) AS due_us
            FROM [tenure_outbox] AS o WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK)
            WHERE o.fresh IS NOT NULL
            ORDER BY o.fresh DESC, o.id
        ) AS added
    ) AS w ON 1 = 1
    LEFT JOIN (
        SELECT DISTINCT x.lane
        FROM (
            SELECT TOP (@P1) d.id, d.halts
            FROM [tenure_outbox_dead] AS d WITH (INDEX (discarded), READPAST, READCOMMITTEDLOCK)
            WHERE d.discarded_at IS NULL
            ORDER BY d.id DESC
        ) AS grave
        INNER JOIN [tenure_outbox_pending] AS x WITH (READPAST, READCOMMITTEDLOCK) ON x.id = grave.id
        WHERE grave.halts = 1 AND x.queued = 2
    ) AS h ON h.lane = w.lane
    LEFT JOIN [tenure_outbox] AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = w.id
) AS waits
CROSS JOIN (
    SELECT COUNT_BIG(*) AS dead,
           COUNT_BIG(DISTINCT CASE WHEN grave.halts = 1 THEN p.lane END) AS halted_sources,
           (SELECT max(o.id) FROM [tenure_outbox] AS o WITH (READPAST, READCOMMITTEDLOCK)) AS newest
    FROM (
        SELECT TOP (@P1) d.id, d.halts
        FROM [tenure_outbox_dead] AS d WITH (INDEX (discarded), READPAST, READCOMMITTEDLOCK)
        WHERE d.discarded_at IS NULL
        ORDER BY d.id DESC
    ) AS grave
    LEFT JOIN [tenure_outbox_pending] AS p WITH (READPAST, READCOMMITTEDLOCK) ON p.id = grave.id AND grave.halts = 1
) AS graves

-- outbox_release
DELETE p FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (ROWLOCK) ON p.id = asked.id
WHERE p.queued = 2

-- outbox_revive
UPDATE p SET queued = 1, due_us = DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now), forgiven = p.attempts,
             place_a = CASE WHEN p.lane = 0x THEN DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) ELSE p.place_a END
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (ROWLOCK) ON p.id = asked.id;
INSERT INTO [tenure_outbox_pending] (id, lane, place_a, place_b, queued, due_us, attempts, forgiven)
SELECT o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END,
       CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_seq ELSE DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) END,
       CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_index ELSE 0 END, 1, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now), d.attempts, d.attempts
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN [tenure_outbox_dead] AS d ON d.id = asked.id
INNER LOOP JOIN [tenure_outbox] AS o ON o.id = d.id
WHERE NOT EXISTS (SELECT 1 FROM [tenure_outbox_pending] AS t WITH (READCOMMITTEDLOCK) WHERE t.id = o.id)

-- outbox_row_before
SELECT TOP (1) o.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us
FROM [tenure_outbox] AS o
WHERE o.id <= @P1
ORDER BY o.id DESC

-- outbox_rows
SELECT p.id, p.lane, CASE WHEN o.id IS NULL OR n.id IS NOT NULL THEN 4 ELSE p.queued END AS queued, p.due_us, p.attempts, p.forgiven, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p ON p.id = asked.id
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = p.id
LEFT LOOP JOIN [tenure_outbox_arrivals] AS n ON n.id = p.id

-- outbox_savepoint
IF @@TRANCOUNT > 0 SAVE TRANSACTION tenure_enqueue

-- outbox_sources
SELECT page.lane, page.queued, page.due_us, page.id
FROM (
    SELECT known.lane, known.queued, known.due_us, known.id, known.place_a, known.place_b
    FROM (
        SELECT TOP (@P3) p.lane, p.queued, p.due_us, p.id, p.place_a, p.place_b
        FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
        WHERE p.lane > @B1
          AND NOT EXISTS (SELECT 1 FROM OPENJSON(@B2) WITH (lane varbinary(500) '$') AS left_out WHERE left_out.lane = p.lane)
        ORDER BY p.lane, p.place_a, p.place_b, p.id
    ) AS known
    UNION ALL
    SELECT fresh.lane, 3, 0, fresh.id, 0, 0
    FROM (
        SELECT TOP (@P4) CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, o.id
        FROM [tenure_outbox] AS o WITH (INDEX (fresh))
        WHERE o.fresh IS NOT NULL
        ORDER BY o.fresh DESC, o.id
    ) AS fresh
    UNION ALL
    SELECT listed.lane, 3, 0, listed.id, 0, 0
    FROM (
        SELECT TOP (@P5) CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END AS lane, o.id
        FROM [tenure_outbox_arrivals] AS a
        INNER LOOP JOIN [tenure_outbox] AS o ON o.id = a.id
        ORDER BY a.id
    ) AS listed
) AS page
ORDER BY page.lane, page.place_a, page.place_b, page.id

-- outbox_summaries
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
    SELECT o.id, o.message_id, CASE WHEN n.id IS NOT NULL THEN 1 WHEN p.id IS NOT NULL THEN p.queued WHEN o.fresh IS NOT NULL THEN 1 ELSE 0 END AS queued, o.source, o.source_seq, o.source_index, o.topic, o.type, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, coalesce(p.due_us, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0)) AS due_us, coalesce( p.attempts, d.attempts, (SELECT max(a.number) FROM [tenure_outbox_attempts] AS a WHERE a.message = o.id), 0 ) AS attempts, d.halts, d.reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', d.died_at) AS died_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', d.discarded_at) AS discarded_us, ( SELECT TOP (1) DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.at) FROM [tenure_outbox_attempts] AS a WHERE a.message = o.id ORDER BY a.number DESC ) AS tried_us, ( SELECT TOP (1) a.error FROM [tenure_outbox_attempts] AS a WHERE a.message = o.id AND a.error IS NOT NULL ORDER BY a.number DESC ) AS error
    FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
    INNER LOOP JOIN [tenure_outbox] AS o ON o.id = asked.id
    LEFT LOOP JOIN [tenure_outbox_pending] AS p ON p.id = o.id
    LEFT LOOP JOIN [tenure_outbox_arrivals] AS n ON n.id = o.id
    LEFT LOOP JOIN [tenure_outbox_dead] AS d ON d.id = o.id
) AS s
ORDER BY s.id DESC

-- outbox_undo
ROLLBACK TRANSACTION tenure_enqueue

-- outbox_unordered
SELECT TOP (@P3) p.id, p.lane, CASE WHEN o.id IS NULL OR n.id IS NOT NULL THEN 4 ELSE p.queued END AS queued, p.due_us, p.attempts, p.forgiven, o.message_id, CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source, o.source_seq, o.source_index, CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic, CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type, CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type, CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape, CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload, CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
LEFT LOOP JOIN [tenure_outbox] AS o ON o.id = p.id
LEFT LOOP JOIN [tenure_outbox_arrivals] AS n ON n.id = p.id
WHERE p.lane = 0x
  AND (p.place_a > @P1 OR (p.place_a = @P1 AND p.place_b = 0 AND p.id > @P2))
  AND p.place_a <= DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY p.lane, p.place_a, p.place_b, p.id

-- outbox_unordered_narrow
SELECT TOP (@P3) p.place_a AS due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
WHERE p.lane = 0x
  AND (p.place_a > @P1 OR (p.place_a = @P1 AND p.place_b = 0 AND p.id > @P2))
  AND p.place_a <= DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY p.lane, p.place_a, p.place_b, p.id

-- outbox_unordered_next
SELECT TOP (@P1) p.place_a AS due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
WHERE p.lane = 0x AND p.place_a > DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY p.lane, p.place_a, p.place_b, p.id

-- outbox_walk
DECLARE @walk_lane varbinary(500) = @B1, @walk_next varbinary(500)

-- outbox_walk_end
SELECT @walk_lane AS lane

-- outbox_walk_find
SET @walk_next = (
    SELECT TOP (1) lane FROM [tenure_outbox_pending] WITH (INDEX (queue))
    WHERE lane > @walk_lane
    ORDER BY lane, place_a, place_b, id
)

-- outbox_walk_head
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM [tenure_outbox_pending] AS p WITH (INDEX (queue))
WHERE p.lane = @walk_lane
ORDER BY p.lane, p.place_a, p.place_b, p.id

-- outbox_walk_move
SET @walk_lane = @walk_next

-- parked_add
INSERT INTO [tenure_parked] (subscription, position, stream, version, type, attempts, reason)
SELECT r.subscription, r.position, r.stream, r.version, r.type, r.attempts, r.reason
FROM OPENJSON(@P1) WITH (
    subscription varbinary(200) '$.b[0]', position bigint '$.v[1]', stream varbinary(500) '$.b[2]', version bigint '$.v[3]',
    type nvarchar(250) '$.v[4]', attempts int '$.v[5]', reason nvarchar(max) '$.v[6]'
) AS r

-- parked_clear
DELETE p FROM OPENJSON(@P2) WITH (position bigint '$') AS asked
INNER LOOP JOIN [tenure_parked] AS p WITH (ROWLOCK) ON p.subscription = @B1 AND p.position = asked.position

-- parked_forget
DELETE FROM [tenure_parked] WITH (ROWLOCK) WHERE subscription = @B1 AND position > @P2

-- parked_list
SELECT TOP (@P3) position, stream, version, type, attempts, reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', parked_at) AS parked_us
FROM [tenure_parked]
WHERE subscription = @B1 AND position > @P2
ORDER BY position

-- pending_add
INSERT INTO [tenure_outbox_pending] (id, lane, place_a, place_b, due_us)
SELECT o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_seq ELSE coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0) END, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_index ELSE 0 END, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0)
FROM OPENJSON(@P1) WITH (id nvarchar(64) '$.v[0][1]') AS asked
INNER LOOP JOIN [tenure_outbox] AS o ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS
WHERE NOT EXISTS (SELECT 1 FROM [tenure_outbox_pending] AS t WITH (READCOMMITTEDLOCK) WHERE t.id = o.id)

-- pending_add_now
INSERT INTO [tenure_outbox_pending] (id, lane, place_a, place_b, due_us)
VALUES (SCOPE_IDENTITY(), @B1, @P2, @P3, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now))

-- pending_add_one
INSERT INTO [tenure_outbox_pending] (id, lane, place_a, place_b, due_us)
VALUES (
    SCOPE_IDENTITY(), @B1,
    coalesce(@P2, DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(@P4, @now))), @P3,
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(@P4, @now))
)

-- pending_lay
DELETE p
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox_pending] AS p WITH (ROWLOCK) ON p.id = asked.id;
INSERT INTO [tenure_outbox_pending] (id, lane, place_a, place_b, due_us)
SELECT o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_seq ELSE coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0) END, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_index ELSE 0 END, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0)
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN [tenure_outbox] AS o ON o.id = asked.id

-- rollback
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION

-- runners_forget
DELETE r
FROM (
    SELECT TOP (@P2) t.seen_at
    FROM [tenure_runners] AS t WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE t.seen_at < DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
    ORDER BY t.node, t.incarnation, t.kind, t.name
) AS r

-- runners_keep
DELETE r
FROM [tenure_runners] AS r WITH (ROWLOCK)
WHERE r.node = @B1
  AND r.incarnation = @P2
  AND NOT EXISTS (
      SELECT 1 FROM OPENJSON(@B3) WITH (kept varbinary(300) '$') AS asked
      WHERE asked.kept = CAST(CAST(r.kind AS varchar(16)) AS varbinary(16)) + 0x2F + r.name
  )

-- runners_list
SELECT r.node, r.incarnation, r.kind, r.name, r.machine, r.pid, r.state, r.trouble, r.every_ms, r.cycled_ms, r.advanced_ms,
       r.counters, DATEDIFF_BIG(MICROSECOND, '1970-01-01', r.started_at) AS started_us,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', r.seen_at) AS seen_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM (SELECT 1 AS one) AS always
LEFT JOIN (
    SELECT TOP (@P2) *
    FROM [tenure_runners] WITH (READPAST, READCOMMITTEDLOCK)
    WHERE seen_at >= DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
    ORDER BY node, incarnation, kind, name
) AS r ON 1 = 1
ORDER BY r.node, r.incarnation, r.kind, r.name

-- runners_write
UPDATE t
SET machine = r.machine,
    pid = r.pid,
    state = r.state,
    trouble = r.trouble,
    every_ms = r.every_ms,
    cycled_ms = r.cycled_ms,
    advanced_ms = r.advanced_ms,
    counters = r.counters,
    seen_at = @now
FROM OPENJSON(@P1) WITH (
    node varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    kind nvarchar(16) '$.v[2]',
    name varbinary(200) '$.b[3]',
    machine nvarchar(max) '$.v[4]',
    pid bigint '$.v[5]',
    state nvarchar(max) '$.v[6]',
    trouble nvarchar(max) '$.v[7]',
    every_ms bigint '$.v[8]',
    cycled_ms bigint '$.v[9]',
    advanced_ms bigint '$.v[10]',
    counters nvarchar(max) '$.v[11]'
) AS r
INNER LOOP JOIN [tenure_runners] AS t WITH (ROWLOCK) ON t.node = r.node AND t.incarnation = r.incarnation COLLATE Latin1_General_100_BIN2
    AND t.kind = r.kind COLLATE Latin1_General_100_BIN2 AND t.name = r.name;
INSERT INTO [tenure_runners] (
    node, incarnation, kind, name, machine, pid, state, trouble, every_ms, cycled_ms, advanced_ms, counters, started_at, seen_at
)
SELECT r.node, r.incarnation, r.kind, r.name, r.machine, r.pid, r.state, r.trouble, r.every_ms, r.cycled_ms, r.advanced_ms,
       r.counters, @now, @now
FROM OPENJSON(@P1) WITH (
    node varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    kind nvarchar(16) '$.v[2]',
    name varbinary(200) '$.b[3]',
    machine nvarchar(max) '$.v[4]',
    pid bigint '$.v[5]',
    state nvarchar(max) '$.v[6]',
    trouble nvarchar(max) '$.v[7]',
    every_ms bigint '$.v[8]',
    cycled_ms bigint '$.v[9]',
    advanced_ms bigint '$.v[10]',
    counters nvarchar(max) '$.v[11]'
) AS r
WHERE NOT EXISTS (
    SELECT 1 FROM [tenure_runners] AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
    WHERE t.node = r.node AND t.incarnation = r.incarnation COLLATE Latin1_General_100_BIN2
    AND t.kind = r.kind COLLATE Latin1_General_100_BIN2 AND t.name = r.name
)

-- savepoint
IF @@TRANCOUNT > 0 SAVE TRANSACTION tenure_append

-- savepoint_back
ROLLBACK TRANSACTION tenure_append

-- savepoint_release
DECLARE @own_nothing bit

-- schema_read
SELECT coalesce(max(version), 0) AS version FROM [tenure_schema]

-- schema_write
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (@P1, @P2, SYSUTCDATETIME())

-- session_uncommitted
DECLARE @own_nothing bit

-- slot_add
INSERT INTO [tenure_append_slots] WITH (ROWLOCK) (
    uses, floor, holder, taken_at
)
SELECT 1, (SELECT coalesce(max(position), 0) FROM [tenure_events] WITH (READUNCOMMITTED)), @@SPID, SYSUTCDATETIME()

-- slot_floor
DECLARE @own_nothing bit

-- slot_had
IF @before <> 1 BEGIN SELECT 1 AS tenure_unmet; RETURN; END

-- slot_own
IF @before = 0
BEGIN
    SELECT 1 AS tenure_unmet;
    RETURN;
END;
UPDATE [tenure_append_slots] WITH (ROWLOCK)
SET uses = uses + 1,
    floor = (SELECT coalesce(max(position), 0) FROM [tenure_events] WITH (READUNCOMMITTED)),
    holder = @@SPID,
    taken_at = SYSUTCDATETIME()
WHERE slot = @@SPID % 128 + 1

-- slot_take
IF @before <> @P1 + @P2
BEGIN
    SELECT 1 AS tenure_unmet;
    RETURN;
END;
UPDATE [tenure_append_slots] WITH (ROWLOCK)
SET uses = uses + 1,
    floor = (SELECT coalesce(max(position), 0) FROM [tenure_events] WITH (READUNCOMMITTED)),
    holder = @@SPID,
    taken_at = SYSUTCDATETIME()
WHERE slot = @@SPID % 128 + 1

-- slots_delete
DELETE s FROM OPENJSON(@P1) WITH (slot bigint '$') AS asked
INNER LOOP JOIN [tenure_append_slots] AS s WITH (ROWLOCK) ON s.slot = asked.slot

-- slots_over
SELECT TOP (@P1) slot
FROM [tenure_append_slots] WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)
WHERE slot > 128
ORDER BY slot

-- slots_seen
DECLARE @all_seen TABLE (
    slot bigint NOT NULL PRIMARY KEY, uses bigint NOT NULL, floor bigint NOT NULL, holder bigint NOT NULL, lasts_us bigint NOT NULL
);
INSERT INTO @all_seen (slot, uses, floor, holder, lasts_us)
SELECT slot, uses, floor, holder, DATEDIFF_BIG(MICROSECOND, taken_at, SYSUTCDATETIME())
FROM [tenure_append_slots] WITH (READUNCOMMITTED, FORCESEEK)
WHERE slot > 0 AND uses > 0;
DECLARE @all_horizon bigint = (
    SELECT min(seen.floor) FROM @all_seen AS seen
    WHERE NOT EXISTS (
        SELECT 1 FROM @all_settled AS settled WHERE settled.slot = seen.slot AND settled.uses = seen.uses
    )
);
SET @all_horizon = CASE WHEN @all_horizon < @all_top THEN @all_horizon ELSE @all_top END;
SELECT slot, uses, floor, holder, lasts_us FROM @all_seen

-- slots_settled
DECLARE @all_settled TABLE (slot bigint NOT NULL PRIMARY KEY, uses bigint NOT NULL);
INSERT INTO @all_settled (slot, uses)
SELECT slot, uses FROM [tenure_append_slots] WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE uses > 0;
SELECT slot, uses FROM @all_settled

-- slots_there
SELECT COUNT_BIG(*) AS slots FROM [tenure_append_slots] WITH (READUNCOMMITTED) WHERE slot BETWEEN 1 AND 128

-- slots_unsettled
DECLARE @own_nothing bit

-- snapshot_load
SELECT version, type, schema_version, payload, payload_bytes FROM [tenure_snapshots] WHERE stream = @B1

-- snapshot_save
INSERT INTO [tenure_snapshots] (stream, version, type, schema_version, payload, payload_bytes, taken_at)
SELECT @B1, @P2, @P3, @P4, @P5, @B6, @now
WHERE NOT EXISTS (SELECT 1 FROM [tenure_snapshots] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1);
UPDATE [tenure_snapshots] WITH (ROWLOCK)
SET version = @P2, type = @P3, schema_version = @P4, payload = @P5, payload_bytes = @B6, taken_at = @now
WHERE stream = @B1 AND version <= @P2

-- stats_dead
SELECT coalesce(sum(CASE WHEN d.discarded_at IS NULL THEN 1 ELSE 0 END), 0) AS dead,
       coalesce(sum(CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END), 0) AS discarded,
       count(DISTINCT CASE WHEN d.discarded_at IS NULL AND d.halts = 1 THEN p.lane END) AS halted
FROM [tenure_outbox_dead] AS d
LEFT JOIN [tenure_outbox_pending] AS p ON p.id = d.id AND d.halts = 1

-- stats_pending
SELECT COUNT_BIG(*) AS pending,
       coalesce(sum(CASE WHEN w.attempts = 0 AND w.due_us > clock.now_us THEN 1 ELSE 0 END), 0) AS delayed_rows,
       coalesce(sum(CASE WHEN w.attempts > 0 THEN 1 ELSE 0 END), 0) AS retrying,
       min(
           CASE WHEN h.lane IS NULL AND (w.attempts > 0 OR w.due_us <= clock.now_us)
           THEN nullif(CASE WHEN w.attempts > 0 THEN coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0) ELSE w.due_us END, 0) END
       ) AS oldest_us,
       max(clock.now_us) AS now_us
FROM (SELECT DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us) AS clock
CROSS JOIN (
    SELECT p.id, p.lane, p.due_us, p.attempts
    FROM [tenure_outbox_pending] AS p WITH (READPAST, READCOMMITTEDLOCK)
    INNER JOIN [tenure_outbox] AS there WITH (READPAST, READCOMMITTEDLOCK) ON there.id = p.id
    WHERE p.queued = 1
    UNION ALL
    SELECT o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0), 0
    FROM [tenure_outbox_arrivals] AS a WITH (READPAST, READCOMMITTEDLOCK)
    INNER JOIN [tenure_outbox] AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = a.id
    UNION ALL
    SELECT o.id, CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) ELSE CONVERT(varbinary(500), 0x) END, coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0), 0
    FROM [tenure_outbox] AS o WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK)
    WHERE o.fresh IS NOT NULL
) AS w
LEFT JOIN (
    SELECT DISTINCT x.lane
    FROM [tenure_outbox_dead] AS d
    INNER JOIN [tenure_outbox_pending] AS x WITH (READPAST, READCOMMITTEDLOCK) ON x.id = d.id
    WHERE d.halts = 1 AND d.discarded_at IS NULL AND x.queued = 2
) AS h ON h.lane = w.lane
LEFT JOIN [tenure_outbox] AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = w.id AND w.attempts > 0

-- stats_total
SELECT (SELECT COUNT_BIG(*) FROM (SELECT TOP (@P1) 1 AS one FROM [tenure_outbox] WITH (READPAST, READCOMMITTEDLOCK)) AS few) AS few,
       (SELECT coalesce(max(id) - min(id) + 1, 0) FROM [tenure_outbox] WITH (READPAST, READCOMMITTEDLOCK)) AS span

-- stream_first
IF EXISTS (SELECT 1 FROM [tenure_streams] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO [tenure_streams] (stream, version) VALUES (@B1, @P2)

-- stream_move
UPDATE [tenure_streams] WITH (ROWLOCK) SET version = version + @P3 WHERE stream = @B1 AND version = @P2

-- stream_raise
INSERT INTO [tenure_streams] (stream, version)
SELECT @B1, 0
WHERE NOT EXISTS (SELECT 1 FROM [tenure_streams] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1);
UPDATE [tenure_streams] WITH (ROWLOCK) SET version = version + @P2 WHERE stream = @B1

-- stream_version
SELECT version FROM [tenure_streams] WITH (REPEATABLEREAD, ROWLOCK) WHERE stream = @B1

-- streams_free
SELECT s.stream, s.version
FROM OPENJSON(@B1) WITH (stream varbinary(500) '$') AS asked
INNER LOOP JOIN [tenure_streams] AS s WITH (UPDLOCK, ROWLOCK, NOWAIT) ON s.stream = asked.stream
ORDER BY s.stream

-- streams_list
SELECT TOP (@P4) s.stream, s.version, n.version AS snapshot
FROM [tenure_streams] AS s
LEFT LOOP JOIN [tenure_snapshots] AS n ON n.stream = s.stream
WHERE s.stream > @B1 AND s.stream >= @B2 AND s.stream < @B3
ORDER BY s.stream

-- streams_move
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P2) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
    LEFT LOOP JOIN [tenure_streams] AS s WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON s.stream = r.stream
    WHERE coalesce(s.version, 0) <> r.version
)
BEGIN
    SELECT 1 AS tenure_unmet;
    RETURN;
END;
INSERT INTO [tenure_streams] (stream, version)
SELECT r.stream, 0
FROM OPENJSON(@P2) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
WHERE r.version = 0;
UPDATE s
SET version = r.version
FROM OPENJSON(@P1) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
INNER LOOP JOIN [tenure_streams] AS s WITH (ROWLOCK) ON s.stream = r.stream

-- sweep_look
SELECT TOP (@P2) o.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us,
       CASE WHEN p.id IS NULL AND n.id IS NULL AND o.fresh IS NULL THEN DATEDIFF_BIG(
           MICROSECOND, '1970-01-01',
           coalesce(
               d.discarded_at, d.died_at,
               (
                   SELECT TOP (1) CASE WHEN a.outcome = N'success' THEN a.at END FROM [tenure_outbox_attempts] AS a
                   WHERE a.message = o.id ORDER BY a.number DESC
               )
           )
       ) END AS finished_us,
       CASE WHEN d.id IS NULL THEN 0 ELSE 1 END AS dead, CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END AS discarded
FROM [tenure_outbox] AS o WITH (READPAST, READCOMMITTEDLOCK)
LEFT JOIN [tenure_outbox_pending] AS p ON p.id = o.id
LEFT JOIN [tenure_outbox_arrivals] AS n ON n.id = o.id
LEFT JOIN [tenure_outbox_dead] AS d ON d.id = o.id
WHERE o.id > @P1
ORDER BY o.id

-- tables_there
SELECT t.name AS name
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(coalesce(@P2, SCHEMA_NAME()))
  AND t.name COLLATE Latin1_General_100_BIN2 IN (
      SELECT asked.name COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@P1) WITH (name nvarchar(128) '$') AS asked
  )
