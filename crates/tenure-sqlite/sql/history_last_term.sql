select max(term) from {lease_history} where name = ?1
