select position from {checkpoints} where name = ?1
