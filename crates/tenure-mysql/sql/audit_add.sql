-- $1 actor, $2 action, $3 subject, $4 detail
INSERT INTO {audit} (at, actor, action, subject, detail) VALUES (UTC_TIMESTAMP(6), $1, $2, $3, $4)
