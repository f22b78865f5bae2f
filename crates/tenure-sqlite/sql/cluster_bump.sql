update {cluster} set revision = ?1 where id = 1
