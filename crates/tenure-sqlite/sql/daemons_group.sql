where group_name = ?1
