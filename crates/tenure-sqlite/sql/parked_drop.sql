delete from {parked} where subscription = ?1 and position > ?2
