-- $1 numbers
DELETE FROM {lease_history} WHERE id IN ($1)
