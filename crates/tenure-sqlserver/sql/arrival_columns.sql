-- The same of what has just come. It is due, and was not tried.
a.id, {pending_lane_fragment} AS lane, CASE WHEN o.id IS NULL THEN 4 ELSE 1 END AS queued, 0 AS due_us, 0 AS attempts,
0 AS forgiven, {outbox_message_columns}
