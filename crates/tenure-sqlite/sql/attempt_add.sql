insert into {outbox_attempts} (message, number, at, outcome, took_us, node, term, error)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
