-- Names are compared byte by byte, and stand in the order of their bytes. A text cannot do that here: the server takes `a` and
-- `a ` for one whatever the collation, in comparisons and in unique indexes. So names are kept as bytes (of UTF-8); they hold no
-- zeros, which bytes would be padded with. To read one: CONVERT(varchar(200), name). Other texts, and ids, are nvarchar with a
-- binary collation, whatever the database's own is; they end in no spaces where they are compared.
--
-- Rows are locked one by one and never a whole table in their stead (LOCK_ESCALATION): a fence that somebody shares must not
-- hold up another lease.

-- Which migrations were applied.
IF OBJECT_ID(N'{schema}', N'U') IS NULL
CREATE TABLE {schema} (
    version     int NOT NULL PRIMARY KEY,
    description nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    applied_at  datetime2(6) NOT NULL
);

-- One row per name for ever: it is the lease, its entry in the registry, and the memory of its last term.
IF OBJECT_ID(N'{leases}', N'U') IS NULL
CREATE TABLE {leases} (
    name              varbinary(200) NOT NULL PRIMARY KEY,
    term              bigint NOT NULL,
    node              nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    incarnation       nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    claim             nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    renewals          bigint NOT NULL DEFAULT 0,
    machine           nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid               bigint NOT NULL,
    kind              nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    backend           nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    acquired_at       datetime2(6) NOT NULL,
    renewed_at        datetime2(6) NOT NULL,
    expires_at        datetime2(6) NOT NULL,
    released_at       datetime2(6) NULL,
    revoked_at        datetime2(6) NULL,
    presence          nvarchar(64) COLLATE Latin1_General_100_BIN2 NULL,
    presence_trust_ms int NULL
);

ALTER TABLE {leases} SET (LOCK_ESCALATION = DISABLE);

-- What a transaction shares that has checked a fence, apart from the lease's own row, which renewals write.
IF OBJECT_ID(N'{fences}', N'U') IS NULL
CREATE TABLE {fences} (
    name   varbinary(200) NOT NULL PRIMARY KEY,
    term   bigint NOT NULL,
    [open] tinyint NOT NULL
);

ALTER TABLE {fences} SET (LOCK_ESCALATION = DISABLE);

-- Every change of holder, with its cause.
IF OBJECT_ID(N'{lease_history}', N'U') IS NULL
CREATE TABLE {lease_history} (
    id          bigint IDENTITY NOT NULL PRIMARY KEY,
    name        varbinary(200) NOT NULL,
    term        bigint NOT NULL,
    cause       nvarchar(32) COLLATE Latin1_General_100_BIN2 NOT NULL,
    node        nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    incarnation nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    machine     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid         bigint NOT NULL,
    at          datetime2(6) NOT NULL,
    INDEX name_term (name, term),
    INDEX name_id (name, id)
);

-- What operators did.
IF OBJECT_ID(N'{audit}', N'U') IS NULL
CREATE TABLE {audit} (
    id      bigint IDENTITY NOT NULL PRIMARY KEY,
    at      datetime2(6) NOT NULL,
    actor   nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    action  nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    subject nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    detail  nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL
);
