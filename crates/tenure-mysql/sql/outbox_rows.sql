-- Rows by number, as far as they are in the queue still.
-- $1 numbers
SELECT {outbox_columns} FROM {outbox} AS o FORCE INDEX (PRIMARY) WHERE o.id IN ($1) AND o.queued = 1
