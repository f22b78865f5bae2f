-- Forgets runners that have said nothing since ?1; ?2 how many at most.
delete from {runners}
where (node, incarnation, kind, name) in (
    select node, incarnation, kind, name from {runners} where seen_at < ?1 limit ?2
)
