-- Lines of history, given as lists, the oldest first.
INSERT INTO {lease_history} (name, term, cause, node, incarnation, machine, pid, at)
SELECT h.name, h.term, h.cause, h.node, h.incarnation, h.machine, h.pid, h.at
FROM unnest(
    $1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::timestamptz[]
) WITH ORDINALITY AS h (name, term, cause, node, incarnation, machine, pid, at, place)
ORDER BY h.place
