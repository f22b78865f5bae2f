-- What operators did, the newest first, and how far was looked.
-- $1 before which line, $2 actor, $3 action, $4 subject, each or null for any; $5 how many, $6 how many are looked at
WITH w AS MATERIALIZED (
    SELECT id, at, actor, action, subject, detail FROM {audit} WHERE id < $1 ORDER BY id DESC LIMIT $6
), found AS (
    SELECT w.id, w.at AS at_us, w.actor, w.action, w.subject, w.detail
    FROM w
    WHERE ($2::text IS NULL OR w.actor = $2 OR starts_with(w.actor, $2 || ' ('))
      AND ($3::text IS NULL OR w.action = $3) AND ($4::text IS NULL OR w.subject = $4)
    ORDER BY w.id DESC
    LIMIT $5
)
SELECT f.*, e.looked, e.end_id
FROM (SELECT count(*) AS looked, min(w.id) AS end_id FROM w) AS e
LEFT JOIN found AS f ON true
ORDER BY f.id DESC
