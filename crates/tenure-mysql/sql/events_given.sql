-- The positions that the statement before has given to its events. They rise, and the first is known; they need not follow each
-- other, but nobody else can have events in these streams above it, for their rows are ours until the transaction ends.
-- $1 rows of stream and its last version, $2 streams
SELECT stream, position FROM {events} FORCE INDEX (PRIMARY) WHERE position >= LAST_INSERT_ID() AND stream IN ($2)
