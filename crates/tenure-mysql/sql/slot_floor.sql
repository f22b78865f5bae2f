-- In the user's transaction: the highest position that is committed, for the next statement. A look of its own, for within an
-- INSERT the server would lock what it reads, and everyone else who appends would wait; and kept where an INSERT leaves
-- its number anyway, so that nothing is left on the user's session. (In an old snapshot it is an older position, which is as
-- true.)
SELECT LAST_INSERT_ID(COALESCE(MAX(position), 0)) AS floor FROM {events}
