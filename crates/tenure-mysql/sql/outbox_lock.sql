-- Holds messages, and their rows on the list and in lanes, in the order of their numbers: whoever else than a relay decides what
-- becomes of a message holds its row first. What is in neither is finished, or fresh. The list before lanes, as everyone does who lays.
-- $1 numbers
SELECT STRAIGHT_JOIN o.id,
       CASE WHEN n.id IS NOT NULL THEN 5 WHEN p.id IS NOT NULL THEN p.queued WHEN o.fresh IS NOT NULL THEN 3 ELSE 0 END AS queued,
       CASE WHEN n.id IS NOT NULL THEN 0 ELSE p.attempts END AS attempts,
       CASE WHEN n.id IS NOT NULL THEN octet_length(o.source) BETWEEN 1 AND 500 ELSE p.lane <> X'' END AS ordered
FROM {outbox} AS o FORCE INDEX (PRIMARY)
LEFT JOIN {outbox_arrivals} AS n FORCE INDEX (PRIMARY) ON n.id = o.id
LEFT JOIN {outbox_pending} AS p FORCE INDEX (PRIMARY) ON p.id = o.id
WHERE o.id IN ($1)
ORDER BY o.id
FOR UPDATE
