-- Puts the message into the queue that the statement before has inserted; it stands in the same text.
-- 1 source, or nothing; 2 sequence, or null without a source; 3 index; 4 when to deliver, or null
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
VALUES (
    SCOPE_IDENTITY(), @B1,
    coalesce(@P2, DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(@P4, @now))), @P3,
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(@P4, @now))
)
