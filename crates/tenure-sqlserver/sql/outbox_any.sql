-- Whether there is anything in the queue, and the clock: all that an idle relay asks. It waits for nobody.
SELECT CASE WHEN EXISTS (SELECT 1 FROM {outbox} WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK) WHERE lane >= 0x) THEN 1 ELSE 0 END
           AS found,
       {now_fragment}
