-- Dead messages are pending again, in their old places; all their attempts are forgiven.
-- $1 numbers
UPDATE {outbox} FORCE INDEX (PRIMARY)
SET queued = 1, next_at = UTC_TIMESTAMP(6), forgiven = attempts
WHERE id IN ($1)
