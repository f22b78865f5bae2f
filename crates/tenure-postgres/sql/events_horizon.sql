-- The transactions that have appended, or are about to, and have not ended: the lower half of the number that none of
-- their positions is below, and how to find them. What the role may not see of others is null. Read second; see
-- events/horizon.rs.
SELECT l.objid::bigint AS key, l.pid::bigint AS pid, a.state, a.application_name, a.usename::text AS role, p.gid,
       (extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared)) * 1000000)::bigint AS lasts_us
FROM pg_catalog.pg_locks AS l
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
-- A prepared transaction has no process. It is found by its number, which it holds a lock on too; asked only where there is
-- one.
LEFT JOIN LATERAL (
    SELECT x.gid, x.prepared
    FROM pg_catalog.pg_locks AS own
    JOIN pg_catalog.pg_prepared_xacts AS x ON x.transaction = own.transactionid
    WHERE l.pid IS NULL AND own.pid IS NULL AND own.locktype = 'transactionid'
      AND own.virtualtransaction = l.virtualtransaction
    LIMIT 1
) AS p ON true
WHERE l.locktype = 'advisory' AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND l.classid = ({position_class} # '{events}'::regclass::oid::integer)::oid
