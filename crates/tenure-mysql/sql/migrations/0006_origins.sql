-- What a holding that is only recorded here was granted as: the number, and what it is counted from. Empty for a lease that
-- this database grants itself.
--
-- Where it is done already MySQL says so by an error, having no IF NOT EXISTS for columns; that one is passed over.
ALTER TABLE {leases}
    ADD COLUMN /*M! IF NOT EXISTS */ origin_epoch text,
    ADD COLUMN /*M! IF NOT EXISTS */ origin_term bigint;
