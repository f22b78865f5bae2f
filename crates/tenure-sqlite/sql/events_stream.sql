where stream = ?1 and version >= ?2
order by version
limit ?3
