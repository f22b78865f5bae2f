-- 1 name, 2 term, 3 cause, 4 node, 5 incarnation, 6 machine, 7 pid, 8 at
INSERT INTO {lease_history} (name, term, cause, node, incarnation, machine, pid, at)
VALUES (@B1, @P2, @P3, @P4, @P5, @P6, @P7, @P8)
