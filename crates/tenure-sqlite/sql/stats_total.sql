select count(*) from {outbox}
