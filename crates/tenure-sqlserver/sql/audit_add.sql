-- 1 actor, 2 action, 3 subject, 4 detail
INSERT INTO {audit} (at, actor, action, subject, detail) VALUES (@now, @P1, @P2, @P3, @P4)
