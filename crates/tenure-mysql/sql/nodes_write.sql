-- Writes whole rows.
-- $1 rows
INSERT INTO {nodes} (
    name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, joined_at, revision
) VALUES $1
ON DUPLICATE KEY UPDATE
    incarnation = VALUES(incarnation), term = VALUES(term), machine = VALUES(machine), pid = VALUES(pid),
    labels = VALUES(labels), version = VALUES(version), capacity = VALUES(capacity), leads = VALUES(leads),
    agents = VALUES(agents), leaving = VALUES(leaving), joined_at = VALUES(joined_at), revision = VALUES(revision)
