-- Wakes a relay that sleeps, as the insertion of a message does.
SELECT pg_notify('{wakeup_channel}' || '{outbox}'::regclass::oid, '')
WHERE NOT pg_try_advisory_xact_lock_shared({wakeup_class}, '{outbox}'::regclass::oid::integer)
