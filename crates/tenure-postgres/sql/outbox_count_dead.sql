-- How many dead messages fit, counted up to $5 of $10 that are looked at.
-- $1 topic, $2 source, $3 type, $4 id, each or null for any; $5 how many, $6 after which number, $7 from when on or null, $8 until
-- before when or null, $9 cause or null, $10 how many are looked at
WITH {pass}
{passed}
