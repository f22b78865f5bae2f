insert or replace into {nodes} (
    name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, joined_at, revision
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
