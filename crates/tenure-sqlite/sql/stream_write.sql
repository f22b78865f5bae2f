insert into {streams} (stream, version) values (?1, ?2)
on conflict (stream) do update set version = excluded.version
