-- A walk as one text: each step costs a seek in the index, all of them one trip. The names in braces are statements of the list.
-- 1 after which source, 2 how many steps
{outbox_walk};
DECLARE @own_step bigint = 0;
WHILE @own_step < @P2 AND @walk_lane IS NOT NULL
BEGIN
    {outbox_walk_find};
    {outbox_walk_move};
    {outbox_walk_head};
    SET @own_step = @own_step + 1;
END;
{outbox_walk_end}
