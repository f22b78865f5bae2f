-- A walk from source to source begins here: each step (find, move, head) goes on from where the one before it ended. The driver
-- puts all of them into one text (driver/walk.sql), to which the variables belong.
-- 1 after which source
DECLARE @walk_lane varbinary(500) = @B1, @walk_next varbinary(500)
