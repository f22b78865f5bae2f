-- The same of what has just come. It is due, and was not tried. Whether there is anything in the lane of its source is looked at if $7
-- is 1: that goes first, and this is to be laid behind it.
a.id, CASE WHEN octet_length(o.source) BETWEEN 1 AND 500 THEN X'01' ELSE X'' END AS lane,
CASE
    WHEN o.id IS NULL THEN 4
    WHEN $7 = 1 AND octet_length(o.source) BETWEEN 1 AND 500 AND EXISTS (
        SELECT 1 FROM {outbox_pending} AS q FORCE INDEX (queue) WHERE q.lane = CAST(o.source AS BINARY)
    ) THEN 5
    ELSE 1
END AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven,
{outbox_message_columns}
