-- Row by row, as outbox_delete.
-- $1 messages
DELETE a FROM JSON_TABLE(JSON_ARRAY($1), '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN {outbox_attempts} AS a FORCE INDEX (PRIMARY) ON a.message = asked.id
