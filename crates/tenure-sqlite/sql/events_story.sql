where correlation = ?1 and position > ?2
order by position
limit ?3
