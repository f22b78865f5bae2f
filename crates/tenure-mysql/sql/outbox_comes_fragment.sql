-- Whether a message goes on the list of what has just come: it is due, and its number alone says where it stands in its source.
coalesce(o.deliver_at, o.created_at) <= UTC_TIMESTAMP(6)
AND ((o.source_seq = 0 AND o.source_index = 0) OR octet_length(o.source) NOT BETWEEN 1 AND 500 OR o.source IS NULL)
