-- What is fresh comes first in its index, and what is not, which is far more, behind it: in the same order as in the other
-- databases, so that they are asked in the same words.
CREATE INDEX fresh ON {outbox} (fresh DESC, id) WITH (DROP_EXISTING = ON);
