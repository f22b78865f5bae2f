-- The heads of several sources, by one branch for each (outbox_head).
-- $1 the branches
SELECT h.lane, h.queued, h.due_us, h.id
FROM ($1) AS h
