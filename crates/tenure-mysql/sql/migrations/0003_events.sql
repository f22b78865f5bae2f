-- One row per stream with events: its version, and what the writers of one stream queue up on.
CREATE TABLE IF NOT EXISTS {streams} (
    stream  varchar(500) PRIMARY KEY,
    version bigint NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- Events, for ever. A row never changes. Positions are given out in increasing order, and appear in the order of commits:
-- how a reader goes by them all the same is told in events/horizon.rs. any_id is the event's id once more where its append
-- expected no version: only such an append is known again by its ids alone. bytes is the size of the payload
-- as it stands there: pages are cut by it, and readers must come to the same sum even if someone has shortened a payload.
CREATE TABLE IF NOT EXISTS {events} (
    position       bigint AUTO_INCREMENT PRIMARY KEY,
    stream         varchar(500) NOT NULL,
    version        bigint NOT NULL,
    event_id       char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    any_id         char(36) CHARACTER SET ascii COLLATE ascii_bin,
    type           varchar(250) NOT NULL,
    schema_version int NOT NULL,
    message_id     char(36) CHARACTER SET ascii COLLATE ascii_bin,
    correlation    varchar(250),
    causation      varchar(250),
    headers        mediumtext,
    recorded_at    datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    payload        longtext,
    payload_bytes  longblob,
    bytes          bigint GENERATED ALWAYS AS (coalesce(octet_length(payload), octet_length(payload_bytes), 0)) STORED,
    UNIQUE KEY stream_version (stream, version),
    UNIQUE KEY any_id (any_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- What transactions that append hold, until they end. Those of our own connections take one of the first 128 rows, by the number
-- of the connection; uses counts how often a row was taken: while it is taken, another number stands there than is
-- committed. A user's transaction inserts a row of its own for each append, which is rubbish once it is committed. No position
-- of its holder is at or below floor.
CREATE TABLE IF NOT EXISTS {append_slots} (
    slot     bigint AUTO_INCREMENT PRIMARY KEY,
    uses     bigint NOT NULL,
    floor    bigint NOT NULL,
    holder   bigint NOT NULL,
    taken_at datetime(6) NOT NULL
) ENGINE = InnoDB AUTO_INCREMENT = 129 DEFAULT CHARACTER SET utf8mb4
  COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
INSERT IGNORE INTO {append_slots} (slot, uses, floor, holder, taken_at) VALUES
    (1, 0, 0, 0, '1970-01-01'), (2, 0, 0, 0, '1970-01-01'), (3, 0, 0, 0, '1970-01-01'), (4, 0, 0, 0, '1970-01-01'),
    (5, 0, 0, 0, '1970-01-01'), (6, 0, 0, 0, '1970-01-01'), (7, 0, 0, 0, '1970-01-01'), (8, 0, 0, 0, '1970-01-01'),
    (9, 0, 0, 0, '1970-01-01'), (10, 0, 0, 0, '1970-01-01'), (11, 0, 0, 0, '1970-01-01'), (12, 0, 0, 0, '1970-01-01'),
    (13, 0, 0, 0, '1970-01-01'), (14, 0, 0, 0, '1970-01-01'), (15, 0, 0, 0, '1970-01-01'), (16, 0, 0, 0, '1970-01-01'),
    (17, 0, 0, 0, '1970-01-01'), (18, 0, 0, 0, '1970-01-01'), (19, 0, 0, 0, '1970-01-01'), (20, 0, 0, 0, '1970-01-01'),
    (21, 0, 0, 0, '1970-01-01'), (22, 0, 0, 0, '1970-01-01'), (23, 0, 0, 0, '1970-01-01'), (24, 0, 0, 0, '1970-01-01'),
    (25, 0, 0, 0, '1970-01-01'), (26, 0, 0, 0, '1970-01-01'), (27, 0, 0, 0, '1970-01-01'), (28, 0, 0, 0, '1970-01-01'),
    (29, 0, 0, 0, '1970-01-01'), (30, 0, 0, 0, '1970-01-01'), (31, 0, 0, 0, '1970-01-01'), (32, 0, 0, 0, '1970-01-01'),
    (33, 0, 0, 0, '1970-01-01'), (34, 0, 0, 0, '1970-01-01'), (35, 0, 0, 0, '1970-01-01'), (36, 0, 0, 0, '1970-01-01'),
    (37, 0, 0, 0, '1970-01-01'), (38, 0, 0, 0, '1970-01-01'), (39, 0, 0, 0, '1970-01-01'), (40, 0, 0, 0, '1970-01-01'),
    (41, 0, 0, 0, '1970-01-01'), (42, 0, 0, 0, '1970-01-01'), (43, 0, 0, 0, '1970-01-01'), (44, 0, 0, 0, '1970-01-01'),
    (45, 0, 0, 0, '1970-01-01'), (46, 0, 0, 0, '1970-01-01'), (47, 0, 0, 0, '1970-01-01'), (48, 0, 0, 0, '1970-01-01'),
    (49, 0, 0, 0, '1970-01-01'), (50, 0, 0, 0, '1970-01-01'), (51, 0, 0, 0, '1970-01-01'), (52, 0, 0, 0, '1970-01-01'),
    (53, 0, 0, 0, '1970-01-01'), (54, 0, 0, 0, '1970-01-01'), (55, 0, 0, 0, '1970-01-01'), (56, 0, 0, 0, '1970-01-01'),
    (57, 0, 0, 0, '1970-01-01'), (58, 0, 0, 0, '1970-01-01'), (59, 0, 0, 0, '1970-01-01'), (60, 0, 0, 0, '1970-01-01'),
    (61, 0, 0, 0, '1970-01-01'), (62, 0, 0, 0, '1970-01-01'), (63, 0, 0, 0, '1970-01-01'), (64, 0, 0, 0, '1970-01-01'),
    (65, 0, 0, 0, '1970-01-01'), (66, 0, 0, 0, '1970-01-01'), (67, 0, 0, 0, '1970-01-01'), (68, 0, 0, 0, '1970-01-01'),
    (69, 0, 0, 0, '1970-01-01'), (70, 0, 0, 0, '1970-01-01'), (71, 0, 0, 0, '1970-01-01'), (72, 0, 0, 0, '1970-01-01'),
    (73, 0, 0, 0, '1970-01-01'), (74, 0, 0, 0, '1970-01-01'), (75, 0, 0, 0, '1970-01-01'), (76, 0, 0, 0, '1970-01-01'),
    (77, 0, 0, 0, '1970-01-01'), (78, 0, 0, 0, '1970-01-01'), (79, 0, 0, 0, '1970-01-01'), (80, 0, 0, 0, '1970-01-01'),
    (81, 0, 0, 0, '1970-01-01'), (82, 0, 0, 0, '1970-01-01'), (83, 0, 0, 0, '1970-01-01'), (84, 0, 0, 0, '1970-01-01'),
    (85, 0, 0, 0, '1970-01-01'), (86, 0, 0, 0, '1970-01-01'), (87, 0, 0, 0, '1970-01-01'), (88, 0, 0, 0, '1970-01-01'),
    (89, 0, 0, 0, '1970-01-01'), (90, 0, 0, 0, '1970-01-01'), (91, 0, 0, 0, '1970-01-01'), (92, 0, 0, 0, '1970-01-01'),
    (93, 0, 0, 0, '1970-01-01'), (94, 0, 0, 0, '1970-01-01'), (95, 0, 0, 0, '1970-01-01'), (96, 0, 0, 0, '1970-01-01'),
    (97, 0, 0, 0, '1970-01-01'), (98, 0, 0, 0, '1970-01-01'), (99, 0, 0, 0, '1970-01-01'), (100, 0, 0, 0, '1970-01-01'),
    (101, 0, 0, 0, '1970-01-01'), (102, 0, 0, 0, '1970-01-01'), (103, 0, 0, 0, '1970-01-01'), (104, 0, 0, 0, '1970-01-01'),
    (105, 0, 0, 0, '1970-01-01'), (106, 0, 0, 0, '1970-01-01'), (107, 0, 0, 0, '1970-01-01'), (108, 0, 0, 0, '1970-01-01'),
    (109, 0, 0, 0, '1970-01-01'), (110, 0, 0, 0, '1970-01-01'), (111, 0, 0, 0, '1970-01-01'), (112, 0, 0, 0, '1970-01-01'),
    (113, 0, 0, 0, '1970-01-01'), (114, 0, 0, 0, '1970-01-01'), (115, 0, 0, 0, '1970-01-01'), (116, 0, 0, 0, '1970-01-01'),
    (117, 0, 0, 0, '1970-01-01'), (118, 0, 0, 0, '1970-01-01'), (119, 0, 0, 0, '1970-01-01'), (120, 0, 0, 0, '1970-01-01'),
    (121, 0, 0, 0, '1970-01-01'), (122, 0, 0, 0, '1970-01-01'), (123, 0, 0, 0, '1970-01-01'), (124, 0, 0, 0, '1970-01-01'),
    (125, 0, 0, 0, '1970-01-01'), (126, 0, 0, 0, '1970-01-01'), (127, 0, 0, 0, '1970-01-01'), (128, 0, 0, 0, '1970-01-01');

-- The state of a stream's entity at one version.
CREATE TABLE IF NOT EXISTS {snapshots} (
    stream         varchar(500) PRIMARY KEY,
    version        bigint NOT NULL,
    type           varchar(250) NOT NULL,
    schema_version int NOT NULL,
    payload        longtext,
    payload_bytes  longblob,
    taken_at       datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- How far each subscription has come, and how often an operator has moved it.
CREATE TABLE IF NOT EXISTS {checkpoints} (
    name     varchar(200) PRIMARY KEY,
    position bigint NOT NULL,
    rewinds  bigint NOT NULL DEFAULT 0,
    moved_at datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- Events that a subscription could not handle and went on without.
CREATE TABLE IF NOT EXISTS {parked} (
    subscription varchar(200) NOT NULL,
    position     bigint NOT NULL,
    stream       varchar(500) NOT NULL,
    version      bigint NOT NULL,
    type         varchar(250) NOT NULL,
    attempts     int NOT NULL,
    reason       text NOT NULL,
    parked_at    datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    PRIMARY KEY (subscription, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
