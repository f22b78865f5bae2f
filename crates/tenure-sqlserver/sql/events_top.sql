-- The highest position that is committed. Read first; see events/horizon.rs. What others have not committed is passed over, and
-- so may be what is committed this moment: a lower number is as true. The variable is for events_all, which stands in the same
-- text.
DECLARE @all_top bigint = (
    SELECT coalesce(max(position), 0) FROM {events} WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
);
SELECT @all_top AS [top]
