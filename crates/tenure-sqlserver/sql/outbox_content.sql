-- No more of a payload than is asked for, in characters, and how many bytes the whole has; of a text, in UTF-8.
-- 1 number, 2 how much of it
SELECT o.content_type, o.headers, SUBSTRING(o.payload, 1, @P2) AS payload, SUBSTRING(o.payload_bytes, 1, @P2) AS payload_bytes,
       coalesce(
           DATALENGTH(CONVERT(varchar(max), o.payload COLLATE Latin1_General_100_BIN2_UTF8)), DATALENGTH(o.payload_bytes), 0
       ) AS payload_size
FROM {outbox} AS o
WHERE o.id = @P1
