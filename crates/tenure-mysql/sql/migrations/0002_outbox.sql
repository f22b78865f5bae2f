-- STAND-IN: replaced by the outbox's own migration.
CREATE TABLE IF NOT EXISTS {outbox} (
    id            bigint AUTO_INCREMENT PRIMARY KEY,
    message_id    char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (uuid()),
    source        varchar(500),
    source_seq    bigint NOT NULL DEFAULT 0,
    source_index  int NOT NULL DEFAULT 0,
    topic         text NOT NULL,
    type          text NOT NULL,
    payload       longtext,
    payload_bytes longblob,
    content_type  text,
    headers       mediumtext,
    deliver_at    datetime(6),
    created_at    datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    finished_at   datetime(6),
    UNIQUE KEY message_id (message_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
CREATE TABLE IF NOT EXISTS {inbox} (
    consumer    varchar(200) NOT NULL,
    message_id  char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    fingerprint char(36) CHARACTER SET ascii COLLATE ascii_bin,
    refused     text,
    accepted_at datetime(6) NOT NULL,
    PRIMARY KEY (consumer, message_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
