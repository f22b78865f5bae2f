-- Moves streams that have the versions that are expected, and begins those that must not be there yet; whoever else writes to one of
-- them waits here, and finds it moved. That one has another version is said by a row and not by an error, which may undo the
-- whole transaction. The look holds all rows and the places of those that are not there, so nothing changes behind it. The last
-- statement concerns each stream once.
-- 1 rows of stream and its version from now on, 2 rows of stream, its version before and from now on
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P2) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
    LEFT LOOP JOIN {streams} AS s WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON s.stream = r.stream
    WHERE coalesce(s.version, 0) <> r.version
)
BEGIN
    SELECT 1 AS tenure_unmet;
    RETURN;
END;
INSERT INTO {streams} (stream, version)
SELECT r.stream, 0
FROM OPENJSON(@P2) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
WHERE r.version = 0;
UPDATE s
SET version = r.version
FROM OPENJSON(@P1) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
INNER LOOP JOIN {streams} AS s WITH (ROWLOCK) ON s.stream = r.stream
