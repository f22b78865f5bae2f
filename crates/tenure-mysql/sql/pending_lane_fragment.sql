-- The name under which a message stands in the queue: its source, or the empty name for what has none that can be one.
CASE WHEN octet_length(o.source) BETWEEN 1 AND 500 THEN CAST(o.source AS BINARY) ELSE X'' END
