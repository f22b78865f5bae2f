-- Makes room for events that are put aside again. Row by row, as outbox_delete.
-- $1 subscription, $2 positions
DELETE p FROM JSON_TABLE(JSON_ARRAY($2), '$[*]' COLUMNS (position bigint PATH '$')) AS asked
STRAIGHT_JOIN {parked} AS p FORCE INDEX (PRIMARY) ON p.subscription = $1 AND p.position = asked.position
