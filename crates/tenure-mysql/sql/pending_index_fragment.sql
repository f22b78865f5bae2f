-- The second part of a message's place in the queue.
CASE WHEN octet_length(o.source) BETWEEN 1 AND 500 THEN o.source_index ELSE 0 END
