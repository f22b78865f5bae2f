-- The same of one message as most are: a text, to go at once, whose number says where it stands in its source. Not fresh: its sender puts it
-- into the queue.
-- 1 id, 2 source, 3 topic, 4 type, 5 payload, 6 content type, 7 headers
IF EXISTS (
    SELECT 1 FROM {outbox} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.message_id = @P1 COLLATE Latin1_General_100_CI_AS
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO {outbox} (message_id, source, topic, type, payload, content_type, headers, fresh)
VALUES (@P1, @P2, @P3, @P4, @P5, @P6, @P7, NULL)
