-- 1 numbers
UPDATE p SET queued = 2, attempts = p.attempts + 1 FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_pending} AS p WITH (ROWLOCK) ON p.id = asked.id
