-- The positions that events were given. They rise, but need not follow each other.
-- 1 stream, 2 and 3 the first and the last version
SELECT MIN(position) AS first, MAX(position) AS last FROM {events} WHERE stream = @B1 AND version BETWEEN @P2 AND @P3
