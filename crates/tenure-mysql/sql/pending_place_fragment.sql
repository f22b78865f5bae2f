-- The first part of a message's place in the queue.
CASE WHEN octet_length(o.source) BETWEEN 1 AND 500 THEN o.source_seq ELSE {outbox_due_fragment} END
