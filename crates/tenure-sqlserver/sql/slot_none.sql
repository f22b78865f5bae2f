-- Here slot_take finds what it takes: in the user's transaction no variable lasts from one statement to the next.
DECLARE @own_nothing bit
