-- The same of what has just come. It is due, and was not tried. Whether there is anything in the lane of its source is looked at if
-- parameter 7 is 1: that goes first, and this is to be laid behind it.
a.id, {pending_lane_fragment} AS lane,
CASE
    WHEN o.id IS NULL THEN 4
    WHEN @P7 = 1 AND {pending_lane_fragment} <> 0x AND EXISTS (
        SELECT 1 FROM {outbox_pending} AS q WITH (INDEX (queue)) WHERE q.lane = {pending_lane_fragment}
    ) THEN 5
    ELSE 1
END AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, {outbox_message_columns}
