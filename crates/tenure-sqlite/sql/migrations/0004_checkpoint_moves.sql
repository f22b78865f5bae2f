alter table {checkpoints} add column rewinds integer not null default 0;
