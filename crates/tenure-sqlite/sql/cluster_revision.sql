select revision from {cluster} where id = 1
