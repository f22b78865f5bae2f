-- The last position that was ever given out; none when there was none.
select seq from sqlite_sequence where name = '{prefix}events'
