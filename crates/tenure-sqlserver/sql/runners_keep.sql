-- Deletes what a process said of runners that it has no more.
-- 1 node, 2 incarnation, 3 those that it has, each as its kind, a slash and its name
DELETE r
FROM {runners} AS r WITH (ROWLOCK)
WHERE r.node = @B1
  AND r.incarnation = @P2
  AND NOT EXISTS (
      SELECT 1 FROM OPENJSON(@B3) WITH (kept varbinary(300) '$') AS asked
      WHERE asked.kept = CAST(CAST(r.kind AS varchar(16)) AS varbinary(16)) + 0x2F + r.name
  )
