insert into {audit} (at, actor, action, subject, detail) values (?1, ?2, ?3, ?4, ?5)
