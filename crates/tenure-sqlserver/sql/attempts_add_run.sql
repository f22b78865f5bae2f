-- An attempt each for a run of numbers that are on the list, and are about to be taken off it.
-- 1 2 the first and the last number, 3 outcome, 4 how long each took, 5 node, 6 term
INSERT INTO {outbox_attempts} (message, number, outcome, took_us, node, term)
SELECT a.id, 1, @P3, @P4, @P5, @P6
FROM {outbox_arrivals} AS a
WHERE a.id BETWEEN @P1 AND @P2
  AND NOT EXISTS (
      SELECT 1 FROM {outbox_attempts} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.message = a.id AND t.number = 1
  )
