-- The same of a message that is alone in the user's transaction. That another hand has left its number on the list is said by an error.
INSERT INTO {outbox_arrivals} (id) VALUES (SCOPE_IDENTITY())
