-- $1 rows of what the columns say
INSERT INTO {parked} (subscription, position, stream, version, type, attempts, reason) VALUES $1
