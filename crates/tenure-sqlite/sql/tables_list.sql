select name from sqlite_schema where type = 'table'
