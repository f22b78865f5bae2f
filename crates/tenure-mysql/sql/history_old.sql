-- Lines of history, the oldest first, and what may become of each: 0 it tells the last term of its lease, 1 it may go, 2 it is
-- young.
-- $1 after which number, $2 how many, $3 how long a line is kept, in microseconds
SELECT h.id,
       CASE
           WHEN h.at > UTC_TIMESTAMP(6) - INTERVAL $3 MICROSECOND THEN 2
           WHEN h.term < (
               SELECT max(l.term) FROM {lease_history} AS l FORCE INDEX (name_term) WHERE l.name = h.name
           ) THEN 1
           ELSE 0
       END AS fate
FROM (
    SELECT id, name, term, at FROM {lease_history} FORCE INDEX (PRIMARY) WHERE id > $1 ORDER BY id LIMIT $2
) AS h
ORDER BY h.id
