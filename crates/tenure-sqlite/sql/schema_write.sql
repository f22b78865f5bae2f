insert into {schema} (version, description, applied_at) values (?1, ?2, ?3)
