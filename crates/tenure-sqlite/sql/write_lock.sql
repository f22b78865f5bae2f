-- Takes the write lock and writes nothing: what reads before it writes would be refused, in a transaction that was begun
-- without it, when someone else wrote in between.
update {streams} set version = version where false
