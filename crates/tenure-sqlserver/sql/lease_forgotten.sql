-- Recorded holdings that nobody has touched for as long as they were said to live. This store's own leases are left alone.
-- 1 what this store calls itself, 2 limit
SELECT TOP (@P2) name FROM {leases}
WHERE (backend <> @P1 OR origin_term IS NOT NULL) AND released_at IS NULL AND expires_at <= @now
ORDER BY name
