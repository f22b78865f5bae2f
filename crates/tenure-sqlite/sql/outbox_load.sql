-- The payload of one message (?1), unless it is above the limit (?2); its size is known without reading it.
select octet_length(payload), octet_length(payload_bytes),
       case when octet_length(payload) <= ?2 then payload end,
       case when octet_length(payload_bytes) <= ?2 then payload_bytes end
from {outbox}
where id = ?1
