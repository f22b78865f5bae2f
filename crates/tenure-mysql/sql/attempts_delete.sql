-- $1 messages
DELETE FROM {outbox_attempts} WHERE message IN ($1)
