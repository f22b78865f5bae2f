-- Waits until the cluster's number is another one, or until the time is over: it looks at the row every 25 ms, within one text,
-- so that a node that sleeps costs the network next to nothing. It reads what others have not committed; what it tells is a
-- hint and nothing more. A server that is slow to wake looks less often, and not for longer. Where the row is gone it ends at
-- once, with the number that is known.
-- 1 the number that is known, 2 how often it looks
DECLARE @own_tick bigint = 1, @own_revision bigint = @P1;
WHILE @own_tick < @P2 AND @own_revision = @P1
BEGIN
    WAITFOR DELAY '00:00:00.025';
    SET @own_revision = (SELECT revision FROM {cluster} WITH (READUNCOMMITTED) WHERE id = 1);
    SET @own_tick = CASE
        WHEN DATEDIFF_BIG(MILLISECOND, @now, SYSUTCDATETIME()) >= 25 * @P2 THEN @P2
        ELSE @own_tick + 1
    END;
END;
SELECT CASE WHEN @own_revision IS NULL THEN 0 ELSE @own_tick END AS tick, coalesce(@own_revision, @P1) AS revision
