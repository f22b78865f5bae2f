-- $1 actor, $2 action, $3 subject, $4 detail
INSERT INTO {audit} (at, actor, action, subject, detail)
VALUES (clock_timestamp(), $1, $2, $3, $4)
