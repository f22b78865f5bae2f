-- Whether there is anything in the queue, whether anything is to be put into it, and the clock: all that an idle relay asks. It
-- waits for nobody.
SELECT CASE WHEN EXISTS (SELECT 1 FROM {outbox_pending} WITH (READPAST, READCOMMITTEDLOCK))
              OR EXISTS (SELECT 1 FROM {outbox_arrivals} WITH (READPAST, READCOMMITTEDLOCK)) THEN 1 ELSE 0 END AS found,
       CASE WHEN EXISTS (
           SELECT 1 FROM {outbox} WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK) WHERE fresh IS NOT NULL
       ) THEN 1 ELSE 0 END AS fresh,
       {now_fragment}
