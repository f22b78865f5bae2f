select kind, name from {runners} where node = ?1 and incarnation = ?2
