-- Rows of users' transactions that have ended, locked; those of the others are passed over.
-- $1 how many
SELECT slot FROM {append_slots} FORCE INDEX (PRIMARY) WHERE slot > 128 ORDER BY slot LIMIT $1 FOR UPDATE SKIP LOCKED
