-- What a holding that is only recorded here was granted as: the number, and what it is counted from. Empty for a lease that
-- this database grants itself.

alter table {leases} add column origin_epoch text;

alter table {leases} add column origin_term integer;
