delete from {lease_history} where id = ?1
