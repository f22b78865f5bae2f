-- Where nothing is found, nothing is kept aside either: what is there is that of the step before.
SET @tenure_lane = IF(ROW_COUNT() = 1, @tenure_next, NULL)
