-- $1 numbers
DELETE p FROM {outbox_pending} AS p FORCE INDEX (PRIMARY) WHERE p.id IN ($1)
