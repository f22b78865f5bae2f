-- Whether anything is to be put into the queue, and the clock: what a busy relay asks. Not whether the queue is empty: it would
-- step over all that was deleted of late.
SELECT EXISTS (SELECT 1 FROM {outbox} FORCE INDEX (fresh) WHERE fresh IS NOT NULL) AS fresh, {now_fragment}
