-- Holds streams that are there, before streams_move. Fails at once where somebody else holds one of them.
-- 1 streams
SELECT s.stream, s.version
FROM OPENJSON(@B1) WITH (stream varbinary(500) '$') AS asked
INNER LOOP JOIN {streams} AS s WITH (UPDLOCK, ROWLOCK, NOWAIT) ON s.stream = asked.stream
ORDER BY s.stream
