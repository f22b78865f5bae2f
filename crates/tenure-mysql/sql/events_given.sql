-- The positions of the last events of streams, right behind the statement that has inserted them. They are looked for from the first
-- position on that it was given: behind that there are only they, and what others insert meanwhile. To look for each by its stream and
-- version would cost more.
-- $1 rows of stream and version
SELECT stream, position
FROM {events} FORCE INDEX (PRIMARY)
WHERE position >= LAST_INSERT_ID() AND (stream, version) IN ($1)
