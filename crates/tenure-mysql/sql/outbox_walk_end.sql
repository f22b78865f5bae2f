-- Where the walk has come to; null behind the last source. A source that was emptied between two steps has no head, and is
-- not the end.
SELECT @tenure_lane AS lane
