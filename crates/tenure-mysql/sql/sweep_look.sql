-- Messages by number, with when they were finished: null while they are not. One that was never delivered is not finished.
-- $1 after which number, $2 how many
SELECT o.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.created_at) AS created_us,
       CASE WHEN p.id IS NULL AND n.id IS NULL AND o.fresh IS NULL THEN TIMESTAMPDIFF(
           MICROSECOND, '1970-01-01 00:00:00',
           coalesce(
               d.discarded_at, d.died_at,
               (
                   SELECT CASE WHEN a.outcome = 'success' THEN a.at END FROM {outbox_attempts} AS a
                   WHERE a.message = o.id ORDER BY a.number DESC LIMIT 1
               )
           )
       ) END AS finished_us,
       d.id IS NOT NULL AS dead, d.discarded_at IS NOT NULL AS discarded
FROM {outbox} AS o FORCE INDEX (PRIMARY)
LEFT JOIN {outbox_pending} AS p ON p.id = o.id
LEFT JOIN {outbox_arrivals} AS n ON n.id = o.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
WHERE o.id > $1
ORDER BY o.id
LIMIT $2
