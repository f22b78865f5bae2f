delete from {outbox_pending}
where (lane, source_seq, source_index, id) = (select lane, source_seq, source_index, id from {outbox} where id = ?1)
