-- Whether there is anything in the queue, and the clock: all that an idle relay asks.
SELECT EXISTS (SELECT 1 FROM {outbox} FORCE INDEX (queue) WHERE lane IS NOT NULL) AS found, {now_fragment}
