-- Wakes every node that sleeps. A cluster changes seldom, so nobody has to say first that it sleeps.
SELECT pg_notify('{cluster_channel}' || '{cluster}'::regclass::oid, '')
