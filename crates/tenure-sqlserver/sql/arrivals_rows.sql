-- Messages in the order of their numbers, wherever they stand: for those that arrivals_count has counted, which are all of a stretch.
-- 1 after which number, 2 how many
SELECT TOP (@P2) o.id, {outbox_message_columns}
FROM {outbox} AS o
WHERE o.id > @P1
ORDER BY o.id
