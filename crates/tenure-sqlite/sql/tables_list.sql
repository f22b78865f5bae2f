select name
from sqlite_schema
where type = 'table'
  and name in ('{prefix}schema', '{prefix}leases', '{prefix}lease_history', '{prefix}audit')
