-- Whether a message is among those that are meant: the filter of every list, with the same parameters in each.
-- 4 topic, 5 source, 6 type, 7 from when, 8 until when, each or null for any
(@P4 IS NULL OR (o.topic = @P4 AND DATALENGTH(o.topic) = DATALENGTH(@P4))) AND (@P5 IS NULL OR (o.source = @P5 AND DATALENGTH(o.source) = DATALENGTH(@P5)))
AND (@P6 IS NULL OR (o.type = @P6 AND DATALENGTH(o.type) = DATALENGTH(@P6)))
AND (@P7 IS NULL OR o.created_at >= CAST(@P7 AS datetime2(6))) AND (@P8 IS NULL OR o.created_at < CAST(@P8 AS datetime2(6)))
