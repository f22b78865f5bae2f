-- What stands in the stream (?1) where the events of an append would have come to stand: after ?2, up to ?3.
select stream, version, position, event_id, type, payload, payload_bytes
from {events}
where stream = ?1 and version > ?2 and version <= ?3
order by version
