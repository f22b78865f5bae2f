select count(*) - count(discarded_at), count(discarded_at) from {outbox_dead}
