-- 1 the branches
SELECT f.cause, f.few, f.oldest, f.newest
FROM (@P1) AS f
