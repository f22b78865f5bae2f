-- What changed after a place: ?1 its revision, ?2 the last daemon of that revision that was read, or empty.
where (revision, daemon) > (?1, ?2)
order by revision, daemon
limit ?3
