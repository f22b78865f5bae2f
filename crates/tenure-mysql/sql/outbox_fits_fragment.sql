-- Whether a message is among those that are meant: the filter of every list, with the same parameters in each.
-- $4 topic, $5 source, $6 type, $7 from when, $8 until when, each or null for any
($4 IS NULL OR o.topic = $4) AND ($5 IS NULL OR o.source = $5) AND ($6 IS NULL OR o.type = $6)
AND ($7 IS NULL OR o.created_at >= $7) AND ($8 IS NULL OR o.created_at < $8)
