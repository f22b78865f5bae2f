-- 1 number
SELECT content_type, headers, payload, payload_bytes FROM {outbox} WHERE id = @P1
