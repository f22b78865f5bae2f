-- 1 names
DELETE n FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN {nodes} AS n WITH (ROWLOCK) ON n.name = asked.name
