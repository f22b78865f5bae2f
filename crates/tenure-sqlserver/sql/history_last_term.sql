-- The highest term that the history remembers. Read in a statement of its own after the lock was had, hence fresh.
-- 1 name
SELECT max(term) AS term FROM {lease_history} WHERE name = @B1
