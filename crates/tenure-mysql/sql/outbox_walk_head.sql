-- The head of the source that the walk has come to; nothing when there are no more.
SELECT @tenure_lane AS lane, @tenure_queued AS queued, @tenure_due AS due_us, @tenure_id AS id
FROM DUAL
WHERE @tenure_lane IS NOT NULL
