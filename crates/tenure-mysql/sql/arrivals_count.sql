-- How many of some numbers that follow one another have just come, and the last of them: where no other is between, they need not be
-- named. Whether there is more behind them. And whether there is anything that only arrivals_look can judge: what was missed, and what
-- is to be put into the queue. All by one snapshot.
-- $1 after which number, $2 how many numbers, $3 $4 what was missed: all before this number, and these
SELECT COUNT(*) AS listed, MAX(a.id) AS last,
       EXISTS (SELECT 1 FROM {outbox_arrivals} FORCE INDEX (PRIMARY) WHERE id > $1 + $2) AS more,
       EXISTS (SELECT 1 FROM {outbox_arrivals} FORCE INDEX (PRIMARY) WHERE id < $3 OR id IN ($4))
       OR EXISTS (SELECT 1 FROM {outbox} FORCE INDEX (fresh) WHERE fresh IS NOT NULL) AS beside
FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
WHERE a.id > $1 AND a.id <= $1 + $2
