-- Several of mark_add.
-- $1 rows of consumer, message, fingerprint, why it is refused
INSERT INTO {inbox} (consumer, message_id, fingerprint, refused) VALUES $1
