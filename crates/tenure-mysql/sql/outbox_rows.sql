-- Rows by number, as far as they are in the queue still; also one that its source stands still behind.
-- $1 numbers
SELECT {outbox_columns} FROM {outbox} AS o FORCE INDEX (PRIMARY) WHERE o.id IN ($1) AND o.queued > 0
