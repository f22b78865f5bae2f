-- Those of these ids (?1, an array of JSON) that were appended at any version.
select stream, version, position, event_id, type, payload, payload_bytes
from {events}
where event_id in (select value from json_each(?1)) and any_version = 1
order by version
