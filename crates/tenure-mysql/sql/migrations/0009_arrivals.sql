-- What has just come, was never tried, and stands in its source where its number says: a list of numbers, and the first half of the
-- queue. Many of them are read and removed at once for the price of a few, because they stand side by side. What cannot go at once
-- is laid into its lane, in the other half: a message is in one of the two.
--
-- listed is always 1: who asks for it cannot be answered by the index alone. By that, servers would read a small table through, and
-- wait for everyone who has a row of it under way.
CREATE TABLE IF NOT EXISTS {outbox_arrivals} (
    id     bigint PRIMARY KEY,
    listed tinyint NOT NULL DEFAULT 1
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
