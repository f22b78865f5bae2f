where stream = ?1 and version <= ?2
order by version desc
limit ?3
