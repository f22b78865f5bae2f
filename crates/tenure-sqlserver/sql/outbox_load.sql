-- Sizes are those of UTF-8.
-- 1 number, 2 the largest payload to carry
SELECT DATALENGTH(u.payload) AS text_size, DATALENGTH(o.payload_bytes) AS bytes_size,
       CASE WHEN DATALENGTH(u.payload) <= @P2 THEN o.payload END AS payload,
       CASE WHEN DATALENGTH(o.payload_bytes) <= @P2 THEN o.payload_bytes END AS payload_bytes
FROM {outbox} AS o
CROSS APPLY (SELECT CONVERT(varchar(max), o.payload COLLATE Latin1_General_100_BIN2_UTF8) AS payload) AS u
WHERE o.id = @P1
