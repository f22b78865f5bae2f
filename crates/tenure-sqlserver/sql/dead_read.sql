-- Messages that are dead, also discarded ones, as the audit trail names them. Read behind the locks of their rows.
-- 1 numbers
SELECT o.id, o.message_id, SUBSTRING(o.topic, 1, 300) AS topic, SUBSTRING(o.type, 1, 300) AS type, d.reason,
       CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END AS discarded
FROM {outbox_dead} AS d
JOIN {outbox} AS o ON o.id = d.id
WHERE d.id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
ORDER BY o.id
