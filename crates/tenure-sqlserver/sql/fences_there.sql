-- The fences that there are, whoever holds them.
-- 1 names
SELECT name FROM {fences} WITH (READUNCOMMITTED) WHERE name IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)
