-- 1 names
DELETE FROM {nodes} WITH (ROWLOCK) WHERE name IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)
