SELECT coalesce(sum(CASE WHEN d.discarded_at IS NULL THEN 1 ELSE 0 END), 0) AS dead,
       coalesce(sum(CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END), 0) AS discarded,
       count(DISTINCT CASE WHEN d.discarded_at IS NULL AND d.halts = 1 THEN p.lane END) AS halted
FROM {outbox_dead} AS d
LEFT JOIN {outbox_pending} AS p ON p.id = d.id AND d.halts = 1
