-- 1 names of tables, 2 the schema or null for the user's own
SELECT t.name AS name
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(coalesce(@P2, SCHEMA_NAME()))
  AND t.name COLLATE Latin1_General_100_BIN2 IN (
      SELECT asked.name COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@P1) WITH (name nvarchar(128) '$') AS asked
  )
