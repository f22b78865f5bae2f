-- $1 numbers
DELETE FROM {outbox_dead} WHERE id IN ($1)
