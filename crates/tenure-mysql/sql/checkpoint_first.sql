-- The first step of a subscription. Fails where there was one.
-- $1 name, $2 to
INSERT INTO {checkpoints} (name, position, moved_at) VALUES ($1, $2, UTC_TIMESTAMP(6))
