-- $1 rows that slots_over has locked
DELETE s FROM {append_slots} AS s FORCE INDEX (PRIMARY) WHERE s.slot IN ($1)
