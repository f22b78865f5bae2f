-- 1 names of groups
SELECT {daemon_columns} FROM (SELECT DISTINCT name FROM OPENJSON(@B1) WITH (name varbinary(200) '$')) AS asked
INNER LOOP JOIN {assignments} AS a ON a.group_name = asked.name
