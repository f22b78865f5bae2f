-- Rows of further sources, in order: the first one of each source is its head. Between the sources that are left out the
-- index is sought anew, so what stands behind those is not read.
-- $1 after which source, $2 which to leave out, $3 how many rows
SELECT o.lane, o.queued, {outbox_due_fragment} AS due_us, o.id
FROM {outbox} AS o FORCE INDEX (queue)
WHERE o.lane > $1 AND o.lane NOT IN ($2)
ORDER BY o.lane, o.place_a, o.place_b, o.id
LIMIT $3
