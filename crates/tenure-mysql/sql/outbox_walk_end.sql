-- Where the walk has come to; null behind the last source.
SELECT @tenure_lane AS lane
