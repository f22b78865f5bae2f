-- Messages in the order of their numbers, wherever they stand: for those that arrivals_count has counted, which are all of a stretch.
-- To ask for each by its number costs twice as much.
-- $1 after which number, $2 how many
SELECT o.id, {outbox_message_columns}
FROM {outbox} AS o FORCE INDEX (PRIMARY)
WHERE o.id > $1
ORDER BY o.id
LIMIT $2
