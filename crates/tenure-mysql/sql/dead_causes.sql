-- $1 the branches
SELECT f.cause, f.few, f.oldest, f.newest
FROM ($1) AS f
