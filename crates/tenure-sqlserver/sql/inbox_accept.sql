-- That it is there already is said by a row and not by an error, which may undo the whole transaction. The look holds the place,
-- so of two that find none the second waits for the first, and then finds one. The insert comes last: what it has inserted is
-- what the statement has changed.
-- 1 consumer, 2 message, 3 what stands for its content, or null
IF EXISTS (SELECT 1 FROM {inbox} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO {inbox} (consumer, message_id, fingerprint) VALUES (@B1, @P2, @P3)
