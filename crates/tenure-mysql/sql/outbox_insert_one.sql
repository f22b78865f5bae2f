-- The same of one message as most are: a text, to go at once, whose number says where it stands in its source. What is not said need not be
-- read by the server. Not fresh: its sender puts it into the queue.
-- $1 id, $2 source, $3 topic, $4 type, $5 payload, $6 content type, $7 headers
INSERT INTO {outbox} (message_id, source, topic, type, payload, content_type, headers, fresh)
VALUES ($1, $2, $3, $4, $5, $6, $7, NULL)
