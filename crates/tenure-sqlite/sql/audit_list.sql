-- What operators did, the newest first, each with whether it fits. Read row by row, and no further than needed.
-- ?1 before which line, ?2 actor, ?3 action, ?4 subject, each or null for any; ?5 how many are looked at
select id, at as at_us, actor, action, subject, detail,
       (?2 is null or actor = ?2 or substr(actor, 1, length(?2) + 2) = ?2 || ' (')
       and (?3 is null or action = ?3)
       and (?4 is null or subject = ?4) as fits
from {audit}
where id < ?1
order by id desc
limit ?5
