update {outbox_pending}
set attempts = ?2 + 1, due_at = ?3
where (lane, source_seq, source_index, id) = (select lane, source_seq, source_index, id from {outbox} where id = ?1)
  and attempts = ?2 and due_at is not null
