-- The name under which a message stands in the queue: its source, or the empty name for what has none that can be one.
CASE
    WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500
    THEN CONVERT(varbinary(500), CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8))
    ELSE CONVERT(varbinary(500), 0x)
END
