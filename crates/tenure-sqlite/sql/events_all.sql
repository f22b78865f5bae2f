where position > ?1
order by position
limit ?2
