-- A mark cannot be taken away here; the next one of that name takes its place.
DECLARE @own_nothing bit
