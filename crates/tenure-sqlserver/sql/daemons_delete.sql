-- 1 names
DELETE a FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN {assignments} AS a WITH (ROWLOCK) ON a.daemon = asked.name
