-- Only if the attempt is the next one (?2 were made before), and the message is not dead.
delete from {outbox_pending}
where (lane, source_seq, source_index, id) = (select lane, source_seq, source_index, id from {outbox} where id = ?1)
  and attempts = ?2 and due_at is not null
