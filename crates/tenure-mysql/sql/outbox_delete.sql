-- Row by row, so that no other row is touched: both servers read a small table through to delete much of it, whatever index
-- they are told to go by, and wait for everyone who has a row of it under way.
-- $1 numbers
DELETE o FROM JSON_TABLE(JSON_ARRAY($1), '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = asked.id
