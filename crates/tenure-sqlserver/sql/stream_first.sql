-- The first events of a stream. Fails where there is one already.
-- That it is there already is said by a row and not by an error, which may undo the whole transaction. The look holds the place,
-- so of two that find none the second waits for the first, and then finds one.
-- 1 stream, 2 how many events
INSERT INTO {streams} (stream, version)
SELECT @B1, @P2
WHERE NOT EXISTS (SELECT 1 FROM {streams} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1);
IF ROWCOUNT_BIG() = 0
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END
