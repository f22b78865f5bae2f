select position, rewinds from {checkpoints} where name = ?1
