-- What a row says, as a relay reads it; the order counts. Texts that no message may have are cut short, and large payloads left out.
o.message_id,
CASE WHEN octet_length(o.source) > 4000 THEN left(o.source, 1000) ELSE o.source END AS source,
o.source_seq, o.source_index,
CASE WHEN octet_length(o.topic) > 4000 THEN left(o.topic, 1000) ELSE o.topic END AS topic,
CASE WHEN octet_length(o.type) > 4000 THEN left(o.type, 1000) ELSE o.type END AS type,
CASE WHEN octet_length(o.content_type) > 4000 THEN left(o.content_type, 1000) ELSE o.content_type END AS content_type,
CASE WHEN octet_length(o.headers) > 65536 THEN left(o.headers, 65537) ELSE o.headers END AS headers,
TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.created_at) AS created_us,
(o.payload IS NOT NULL) + 2 * (o.payload_bytes IS NOT NULL) AS shape,
CASE WHEN octet_length(o.payload) <= 16384 THEN o.payload END AS payload,
CASE WHEN octet_length(o.payload_bytes) <= 16384 THEN o.payload_bytes END AS payload_bytes
