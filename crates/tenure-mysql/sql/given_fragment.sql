-- The number that the statement before has given to one of several messages which it has inserted: they rise by the server's increment.
-- $1 how many are before it; its id is not needed
LAST_INSERT_ID() + $1 * @@auto_increment_increment
