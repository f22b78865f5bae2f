-- Row by row, as outbox_delete.
-- $1 numbers
DELETE d FROM JSON_TABLE(JSON_ARRAY($1), '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN {outbox_dead} AS d FORCE INDEX (PRIMARY) ON d.id = asked.id
