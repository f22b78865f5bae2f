-- The same of a message that is alone in the user's transaction. That another hand has left its number on the list is said by an error:
-- to write over what is there costs more than all the rest.
INSERT INTO {outbox_arrivals} (id) VALUES (LAST_INSERT_ID())
