-- Writes whole rows, given as lists.
INSERT INTO {nodes} AS n (
    name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, joined_at, revision
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bigint[], $9::boolean[],
    $10::text[], $11::boolean[], $12::timestamptz[], $13::bigint[]
)
ON CONFLICT (name) DO UPDATE SET
    incarnation = excluded.incarnation,
    term = excluded.term,
    machine = excluded.machine,
    pid = excluded.pid,
    labels = excluded.labels,
    version = excluded.version,
    capacity = excluded.capacity,
    leads = excluded.leads,
    agents = excluded.agents,
    leaving = excluded.leaving,
    joined_at = excluded.joined_at,
    revision = excluded.revision
