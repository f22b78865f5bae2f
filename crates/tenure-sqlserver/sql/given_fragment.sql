-- Of several messages that one statement has inserted, each is found by its id here. How that is read from the rows that go with it.
-- 1 how many are before it, 2 its id; see parameters.rs
id nvarchar(64) '$.v[0][1]'
