-- The first position after the last row: for who only looks, and may not read the counter. It proves nothing.
SELECT coalesce(max(e.position), 0) + 1 AS top FROM {events} AS e
