-- A plain insert: an id that is there already is an error of its own, and so is everything else. (INSERT IGNORE would swallow
-- both.) The server undoes the whole statement then, and nothing else.
-- $1 rows of id, source, sequence, topic, type, payload as text or bytes, content type, headers, when to deliver, and 1 if a relay is to put
-- it into the queue, else null
INSERT INTO {outbox} (
    message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, deliver_at,
    fresh
) VALUES $1
