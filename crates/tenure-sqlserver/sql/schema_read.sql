SELECT coalesce(max(version), 0) AS version FROM {schema}
