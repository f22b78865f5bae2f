-- What has just come, was never tried, and stands in its source where its number says: a list of numbers, and the first half of the
-- queue. Many of them are read and removed at once for the price of a few, because they stand side by side. What cannot go at once
-- is laid into its lane, in the other half: a message is in one of the two. listed is always 1, as in the other databases.
IF OBJECT_ID(N'{outbox_arrivals}', N'U') IS NULL
CREATE TABLE {outbox_arrivals} (
    id     bigint NOT NULL PRIMARY KEY,
    listed tinyint NOT NULL DEFAULT 1
);

ALTER TABLE {outbox_arrivals} SET (LOCK_ESCALATION = DISABLE);
