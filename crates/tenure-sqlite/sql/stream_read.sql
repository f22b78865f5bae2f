select version from {streams} where stream = ?1
