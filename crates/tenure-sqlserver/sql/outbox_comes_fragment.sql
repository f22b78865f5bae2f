-- Whether a message goes on the list of what has just come: it is due, and its number alone says where it stands in its source.
CASE
    WHEN coalesce(o.deliver_at, o.created_at) <= SYSUTCDATETIME()
     AND ((o.source_seq = 0 AND o.source_index = 0) OR {pending_lane_fragment} = 0x)
    THEN 1 ELSE 0
END
