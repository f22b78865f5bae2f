-- Moves streams that have the versions that are expected, and begins those that must not be there yet; whoever else writes to one of
-- them waits here, and finds it moved. (Not so on MariaDB, where this fails at once if anybody holds one of them: that can be said of any statement there, and
-- spares streams_free.) Fails where one has another version. Of one that is not there and should be, the next
-- statement knows by the number of rows: one that is begun counts once, and one that is moved twice.
-- $1 rows of stream and its version from now on, $2 rows of stream, its version before and from now on
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
INSERT INTO {streams} (stream, version) VALUES $1
ON DUPLICATE KEY UPDATE version = IF((stream, version, VALUES(version)) IN ($2), VALUES(version), EXP(10000))
