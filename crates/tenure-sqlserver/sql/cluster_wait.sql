-- Waits until the cluster's number is another one, or until the time is over: it looks at the row every 25 ms, within one text,
-- so that a node that sleeps costs the network next to nothing. It reads what others have not committed; what it tells is a
-- hint and nothing more.
-- 1 the number that is known, 2 how often it looks
DECLARE @own_tick bigint = 1, @own_revision bigint = @P1;
WHILE @own_tick < @P2 AND @own_revision = @P1
BEGIN
    WAITFOR DELAY '00:00:00.025';
    SELECT @own_revision = revision FROM {cluster} WITH (READUNCOMMITTED) WHERE id = 1;
    SET @own_tick = @own_tick + 1;
END;
SELECT @own_tick AS tick, @own_revision AS revision
