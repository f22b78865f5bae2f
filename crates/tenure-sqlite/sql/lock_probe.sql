-- Takes the write lock and gives it back, in one statement; writes nothing. Refused at once while another has the lock.
update {leases} set term = term where false
