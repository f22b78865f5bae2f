-- The same of a run of numbers without a gap: what is removed can be nothing else.
-- $1 $2 the first and the last number
DELETE a FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY) WHERE a.id BETWEEN $1 AND $2 AND a.listed = 1
