-- 1 names
SELECT {daemon_columns} FROM (SELECT DISTINCT name FROM OPENJSON(@B1) WITH (name varbinary(200) '$')) AS asked
INNER LOOP JOIN {assignments} AS a ON a.daemon = asked.name
