-- What a row says, as a relay reads it; the order counts. Texts that no message may have are cut short, and large payloads left out. Sizes
-- of nvarchar are those of UTF-16.
o.message_id,
CASE WHEN DATALENGTH(o.source) > 8000 THEN SUBSTRING(o.source, 1, 1000) ELSE o.source END AS source,
o.source_seq, o.source_index,
CASE WHEN DATALENGTH(o.topic) > 8000 THEN SUBSTRING(o.topic, 1, 1000) ELSE o.topic END AS topic,
CASE WHEN DATALENGTH(o.type) > 8000 THEN SUBSTRING(o.type, 1, 1000) ELSE o.type END AS type,
CASE WHEN DATALENGTH(o.content_type) > 8000 THEN SUBSTRING(o.content_type, 1, 1000) ELSE o.content_type END AS content_type,
CASE WHEN DATALENGTH(o.headers) > 131072 THEN SUBSTRING(o.headers, 1, 65537) ELSE o.headers END AS headers,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us,
CASE WHEN o.payload IS NULL THEN 0 ELSE 1 END + CASE WHEN o.payload_bytes IS NULL THEN 0 ELSE 2 END AS shape,
CASE WHEN DATALENGTH(o.payload) <= 32768 THEN o.payload END AS payload,
CASE WHEN DATALENGTH(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
