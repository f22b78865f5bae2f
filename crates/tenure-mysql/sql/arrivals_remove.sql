-- Takes some off the list of what has just come. In the form of a deletion from several tables, as outbox_finish.
-- $1 numbers
DELETE a FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY) WHERE a.id IN ($1) AND a.listed = 1
