-- Sources go on that stood still behind these. Written as outbox_finish.
-- $1 numbers
DELETE p FROM {outbox_pending} AS p FORCE INDEX (PRIMARY) WHERE p.id IN ($1) AND p.queued = 2
