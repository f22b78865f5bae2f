delete from {runners} where node = ?1 and incarnation = ?2 and kind = ?3 and name = ?4
