-- What a holding that is only recorded here was granted as: the number, and what it is counted from. Empty for a lease that
-- this database grants itself.
ALTER TABLE {leases} ADD COLUMN origin_epoch text, ADD COLUMN origin_term bigint;
