-- What a holding that is only recorded here was granted as: the number, and what it is counted from. Empty for a lease that
-- this database grants itself.
IF COL_LENGTH(N'{leases}', N'origin_term') IS NULL
ALTER TABLE {leases} ADD
    origin_epoch nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    origin_term  bigint NULL;
