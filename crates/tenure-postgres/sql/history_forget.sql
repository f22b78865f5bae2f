-- Looks at lines of history, the oldest first, and deletes those that are old and not of their lease's last term. Answers with what
-- became of each line: 0 it tells the last term, 1 it went, 2 it is young.
-- $1 after which line, $2 how many, $3 how many microseconds a line is kept
WITH looked AS MATERIALIZED (
    SELECT h.id,
           CASE
               WHEN h.at > clock_timestamp() - $3::bigint * interval '1 microsecond' THEN 2
               WHEN h.term < (SELECT max(l.term) FROM {lease_history} AS l WHERE l.name = h.name) THEN 1
               ELSE 0
           END AS fate
    FROM (SELECT id, name, term, at FROM {lease_history} WHERE id > $1 ORDER BY id LIMIT $2) AS h
), gone AS (
    DELETE FROM {lease_history} AS d USING looked AS l WHERE d.id = l.id AND l.fate = 1
)
SELECT id, fate::bigint AS fate FROM looked ORDER BY id
