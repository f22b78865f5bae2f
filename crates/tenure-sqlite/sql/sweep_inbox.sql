delete from {inbox}
where (consumer, message_id) in (
    select consumer, message_id from {inbox} where accepted_at <= ?1 order by accepted_at limit ?2
)
