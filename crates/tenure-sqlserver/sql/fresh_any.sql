-- Whether anything is to be put into the queue, and the clock: what a busy relay asks. It waits for nobody.
SELECT CASE WHEN EXISTS (
           SELECT 1 FROM {outbox} WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK) WHERE fresh IS NOT NULL
       ) THEN 1 ELSE 0 END AS fresh,
       {now_fragment}
