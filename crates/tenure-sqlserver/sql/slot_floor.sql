-- Here slot_add looks for itself: in the user's transaction no variable lasts from one statement to the next.
DECLARE @own_nothing bit
