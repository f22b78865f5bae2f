-- A dead message is pending again, in its old place; all its attempts (?3) are forgiven.
insert into {outbox_pending} (lane, source_seq, source_index, id, due_at, attempts, forgiven)
select lane, source_seq, source_index, id, ?2, ?3, ?3
from {outbox}
where id = ?1
on conflict (lane, source_seq, source_index, id) do update set
    due_at = excluded.due_at,
    attempts = excluded.attempts,
    forgiven = excluded.forgiven
