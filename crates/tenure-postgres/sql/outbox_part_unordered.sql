SELECT r.*
    FROM (SELECT w.id FROM walk AS w WHERE w.own ORDER BY w.due_at, w.id LIMIT $12) AS w
    JOIN {outbox_pending} AS r ON r.id = w.id
