-- Whether there is anything in the queue, whether anything is to be put into it, and the clock: all that an idle relay asks.
SELECT EXISTS (SELECT 1 FROM {outbox_pending}) OR EXISTS (SELECT 1 FROM {outbox_arrivals}) AS found,
       EXISTS (SELECT 1 FROM {outbox} FORCE INDEX (fresh) WHERE fresh IS NOT NULL) AS fresh,
       {now_fragment}
