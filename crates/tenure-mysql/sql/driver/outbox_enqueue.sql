-- One message in the user's own transaction, by one statement with one answer: `outbox_insert_one` and `arrivals_add_new`, both halves of
-- which MySQL would answer one by one, and whoever waits for them would wake up twice. It may do what its caller may. Nothing depends on
-- it: where it is not there, or a user may not call it, the two are sent. Names are as long as messages may have them: a `text` is copied
-- once more on its way.
--
-- Its text is told apart from those around it by a delimiter of its own, as the `mysql` client wants it.
DELIMITER //
CREATE PROCEDURE {outbox_enqueue} (
    new_id           varchar(64) CHARACTER SET ascii,
    new_source       varchar(500) CHARACTER SET utf8mb4,
    new_topic        varchar(250) CHARACTER SET utf8mb4,
    new_type         varchar(250) CHARACTER SET utf8mb4,
    new_payload      longtext CHARACTER SET utf8mb4,
    new_content_type varchar(250) CHARACTER SET utf8mb4,
    new_headers      mediumtext CHARACTER SET utf8mb4
)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    INSERT INTO {outbox} (message_id, source, topic, type, payload, content_type, headers, fresh)
    VALUES (new_id, new_source, new_topic, new_type, new_payload, new_content_type, new_headers, NULL);
    INSERT INTO {outbox_arrivals} (id) VALUES (LAST_INSERT_ID());
END//
DELIMITER ;
