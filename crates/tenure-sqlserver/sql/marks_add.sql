-- Several of mark_add, all or none. That one is there already, or twice among them, is said by a row and not by an error, which may
-- undo the whole transaction. The look holds the places, so of two that find none the second waits for the first.
-- 1 rows of consumer, message, fingerprint, why it is refused
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (consumer varbinary(200) '$.b[0]', message_id nvarchar(36) '$.v[1]') AS r
    INNER LOOP JOIN {inbox} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
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
INSERT INTO {inbox} (consumer, message_id, fingerprint, refused)
SELECT r.consumer, r.message_id, r.fingerprint, r.refused
FROM OPENJSON(@P1) WITH (
    i int '$.i', consumer varbinary(200) '$.b[0]', message_id nvarchar(36) '$.v[1]', fingerprint nvarchar(36) '$.v[2]',
    refused nvarchar(max) '$.v[3]'
) AS r
ORDER BY r.i
