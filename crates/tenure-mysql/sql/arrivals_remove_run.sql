-- The same for a run of numbers that are all on the list. The last one by itself: whoever deletes a stretch looks at the row behind it
-- too, and would wait for whoever has that under way.
-- $1 $2 the first and the last but one, $3 the last
DELETE a FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY) WHERE (a.id BETWEEN $1 AND $2 OR a.id = $3) AND a.listed = 1
