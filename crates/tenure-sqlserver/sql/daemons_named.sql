-- 1 names
SELECT {daemon_columns} FROM {assignments} AS a WHERE a.daemon IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)
