-- Null lets all through: ?1 node, ?2 what the name begins with, byte by byte, ?3 the name before the first.
where {whose}
  and (?2 is null or substr(cast(daemon as blob), 1, length(cast(?2 as blob))) = cast(?2 as blob))
  and (?3 is null or daemon > ?3)
order by daemon
limit ?4
