-- Whoever calls this holds the row.
-- $1 name, $2 to
UPDATE {checkpoints} SET position = $2, moved_at = UTC_TIMESTAMP(6) WHERE name = $1
