,
       CASE WHEN (SELECT count(*) >= $18 AND count(*) FILTER (WHERE w.own) < $12 FROM walk AS w)
           THEN (SELECT max(w.due_at) FROM walk AS w) END AS walked_due_at,
       (SELECT w.id FROM walk AS w ORDER BY w.due_at DESC, w.id DESC LIMIT 1) AS walked_id
