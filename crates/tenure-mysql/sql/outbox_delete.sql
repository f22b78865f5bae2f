-- $1 numbers
DELETE FROM {outbox} WHERE id IN ($1)
