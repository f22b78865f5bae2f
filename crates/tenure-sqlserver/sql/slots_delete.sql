-- 1 rows that slots_over has locked
DELETE s FROM OPENJSON(@P1) WITH (slot bigint '$') AS asked
INNER LOOP JOIN {append_slots} AS s WITH (ROWLOCK) ON s.slot = asked.slot
