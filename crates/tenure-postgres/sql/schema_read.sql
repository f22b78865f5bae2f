SELECT coalesce(max(version), 0)::bigint AS version FROM {schema}
