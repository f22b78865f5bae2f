-- Names and texts are compared byte by byte, whatever the database's own collation is: each table says so. The two servers
-- call that collation by different names; each reads only its own of the two comments.

-- Which migrations were applied.
CREATE TABLE IF NOT EXISTS {schema} (
    version     int PRIMARY KEY,
    description varchar(200) NOT NULL,
    applied_at  datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- One row per name for ever: it is the lease, its entry in the registry, and the memory of its last term.
CREATE TABLE IF NOT EXISTS {leases} (
    name              varchar(200) PRIMARY KEY,
    term              bigint NOT NULL,
    node              varchar(200) NOT NULL,
    incarnation       varchar(64) NOT NULL,
    claim             varchar(64) NOT NULL,
    renewals          bigint NOT NULL DEFAULT 0,
    machine           text NOT NULL,
    pid               bigint NOT NULL,
    kind              text,
    backend           varchar(64) NOT NULL,
    acquired_at       datetime(6) NOT NULL,
    renewed_at        datetime(6) NOT NULL,
    expires_at        datetime(6) NOT NULL,
    released_at       datetime(6),
    revoked_at        datetime(6),
    presence          varchar(64),
    presence_trust_ms int
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- What a transaction shares that has checked a fence, apart from the lease's own row, which renewals write.
CREATE TABLE IF NOT EXISTS {fences} (
    name varchar(200) PRIMARY KEY,
    term bigint NOT NULL,
    open tinyint NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- Every change of holder, with its cause.
CREATE TABLE IF NOT EXISTS {lease_history} (
    id          bigint AUTO_INCREMENT PRIMARY KEY,
    name        varchar(200) NOT NULL,
    term        bigint NOT NULL,
    cause       varchar(32) NOT NULL,
    node        varchar(200) NOT NULL,
    incarnation varchar(64) NOT NULL,
    machine     text NOT NULL,
    pid         bigint NOT NULL,
    at          datetime(6) NOT NULL,
    KEY name_term (name, term),
    KEY name_id (name, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- What operators did.
CREATE TABLE IF NOT EXISTS {audit} (
    id      bigint AUTO_INCREMENT PRIMARY KEY,
    at      datetime(6) NOT NULL,
    actor   text NOT NULL,
    action  varchar(100) NOT NULL,
    subject text NOT NULL,
    detail  text NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
