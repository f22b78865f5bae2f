-- A dead message is pending again, in its old place; all its attempts (?3) are forgiven. Its source is found as in the
-- trigger of the outbox.
insert into {outbox_pending} (id, source, source_seq, source_index, due_at, attempts, forgiven)
select id,
       case
           when length(cast(source as blob)) between 1 and 500
               and source_index between -2147483648 and 2147483647
           then source
       end,
       source_seq, source_index, ?2, ?3, ?3
from {outbox}
where id = ?1
on conflict (id) do update set
    due_at = excluded.due_at,
    attempts = excluded.attempts,
    forgiven = excluded.forgiven
