-- Rows of users' transactions that have ended, locked; those of the others are passed over.
-- 1 how many
SELECT TOP (@P1) slot
FROM {append_slots} WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)
WHERE slot > 128
ORDER BY slot
