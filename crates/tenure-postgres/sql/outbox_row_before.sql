-- The row of this number, or the next lower one.
-- $1 number
SELECT id, created_at AS created_us FROM {outbox} WHERE id <= $1 ORDER BY id DESC LIMIT 1
