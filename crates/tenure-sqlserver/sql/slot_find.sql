-- Here slot_take finds what it takes: in the user's transaction no variable lasts from one statement to the next.
-- 1 the place
DECLARE @own_place bigint = @P1
