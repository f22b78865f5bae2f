SET @walk_lane = @walk_next
