-- Puts messages on the list that the statement before has inserted, in that order; they are found as pending_add finds them.
-- $1 ids
INSERT INTO {outbox_arrivals} (id)
SELECT CASE WHEN o.id IS NULL THEN asked.k + 9223372036854775807 ELSE o.id END
FROM JSON_TABLE(
    JSON_ARRAY($1), '$[*]' COLUMNS (
        k FOR ORDINALITY, message_id varchar(64) CHARACTER SET ascii COLLATE ascii_general_ci PATH '$'
    )
) AS asked
LEFT JOIN {outbox} AS o FORCE INDEX (PRIMARY)
    ON o.id = LAST_INSERT_ID() + (asked.k - 1) * @@auto_increment_increment AND o.message_id = asked.message_id
ON DUPLICATE KEY UPDATE id = VALUES(id)
