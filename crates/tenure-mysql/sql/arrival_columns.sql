-- The same of what has just come. It is due, and was not tried.
a.id, CASE WHEN octet_length(o.source) BETWEEN 1 AND 500 THEN X'01' ELSE X'' END AS lane,
CASE WHEN o.id IS NULL THEN 4 ELSE 1 END AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven,
{outbox_message_columns}
