-- The first events of a stream. Fails where there is one already.
-- That it is there already is said by a row and not by an error, which may undo the whole transaction. The look holds the place,
-- so of two that find none the second waits for the first, and then finds one. The insert comes last: what it has inserted is
-- what the statement has changed.
-- 1 stream, 2 how many events
IF EXISTS (SELECT 1 FROM {streams} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO {streams} (stream, version) VALUES (@B1, @P2)
