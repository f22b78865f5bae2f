-- 1 names of groups
SELECT {daemon_columns} FROM {assignments} AS a WHERE a.group_name IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)
