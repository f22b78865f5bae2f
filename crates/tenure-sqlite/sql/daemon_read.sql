where daemon = ?1
