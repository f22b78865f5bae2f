ALTER TABLE {checkpoints} ADD COLUMN rewinds bigint NOT NULL DEFAULT 0;
