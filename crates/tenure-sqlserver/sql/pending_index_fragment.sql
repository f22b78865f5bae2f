-- The second part of a message's place in the queue.
CASE WHEN DATALENGTH(CONVERT(varchar(max), o.source COLLATE Latin1_General_100_BIN2_UTF8)) BETWEEN 1 AND 500 THEN o.source_index ELSE 0 END
