delete from {assignments} where daemon = ?1
