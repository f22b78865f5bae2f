select max(version) from {schema}
