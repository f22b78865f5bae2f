-- 1 id, without regard to case
SELECT id FROM {outbox} WHERE message_id = @P1
