-- Puts the message on the list that the statement before has inserted; it stands in the same text.
INSERT INTO {outbox_arrivals} (id)
SELECT SCOPE_IDENTITY()
WHERE NOT EXISTS (SELECT 1 FROM {outbox_arrivals} AS t WITH (UPDLOCK, ROWLOCK) WHERE t.id = SCOPE_IDENTITY())
