-- The heads of several sources, by one branch for each (outbox_head).
-- $1 the branches
SELECT f.lane, f.queued, f.due_us, f.id
FROM ($1) AS f
