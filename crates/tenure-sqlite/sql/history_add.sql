insert into {lease_history} (name, term, cause, node, incarnation, machine, pid, at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
