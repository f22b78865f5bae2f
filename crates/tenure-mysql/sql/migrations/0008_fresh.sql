-- What is fresh comes first in its index, and what is not, which is far more, behind it: a relay that takes the mark off a message
-- then writes behind all fresh ones. In the other order it wrote right before the first of them, which may be of a transaction
-- that is open; and where the server has made of that one's lock a lock of the gap before it, as it does at REPEATABLE READ when it
-- splits a page, the relay waited until that transaction ended.
ALTER TABLE {outbox} DROP KEY fresh, ADD KEY fresh (fresh DESC);
