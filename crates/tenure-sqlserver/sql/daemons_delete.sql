-- 1 names
DELETE FROM {assignments} WITH (ROWLOCK) WHERE daemon IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)
