SET @tenure_lane = @tenure_next
