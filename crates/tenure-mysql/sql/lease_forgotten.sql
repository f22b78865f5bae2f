-- Recorded holdings that nobody has touched for as long as they were said to live. This store's own leases are left alone.
-- $1 what this store calls itself, $2 limit
SELECT name FROM {leases}
WHERE (backend <> $1 OR origin_term IS NOT NULL) AND released_at IS NULL AND expires_at <= UTC_TIMESTAMP(6)
ORDER BY name
LIMIT $2
