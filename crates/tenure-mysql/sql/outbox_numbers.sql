-- The numbers of the messages with these ids.
-- $1 ids
SELECT id FROM {outbox} FORCE INDEX (message_id) WHERE message_id IN ($1)
