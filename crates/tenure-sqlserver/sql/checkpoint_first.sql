-- The first step of a subscription. Fails where there was one.
-- That it is there already is said by a row and not by an error, which may undo the whole transaction. The look holds the place,
-- so of two that find none the second waits for the first, and then finds one. The insert comes last: what it has inserted is
-- what the statement has changed.
-- 1 name, 2 to
IF EXISTS (SELECT 1 FROM {checkpoints} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO {checkpoints} (name, position, moved_at) VALUES (@B1, @P2, @now)
