-- Every text as the server reads it. Written by the tests of src/grammar.rs.

-- audit_add
INSERT INTO [tenure_audit] (at, actor, action, subject, detail) VALUES (@now, @P1, @P2, @P3, @P4)

-- begin
BEGIN TRANSACTION

-- commit
COMMIT TRANSACTION

-- driver greeting
-- What a server is asked first: what it is, whether it can be written to, and where tables without a schema go.
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS version,
       CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), 4) AS int) AS major,
       CAST(SERVERPROPERTY('EngineEdition') AS int) AS edition,
       CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(60)) AS updateability,
       CAST((SELECT d.compatibility_level FROM sys.databases AS d WHERE d.database_id = DB_ID()) AS int) AS compatibility,
       SCHEMA_NAME() AS own_schema

-- driver lock_free
-- Whether a lock could be had in shared mode, without taking it: 1 if nobody holds it alone.
-- 1 name
SELECT APPLOCK_TEST(N'public', @P1, N'Shared', N'Session') AS free

-- driver lock_give
-- 1 name
DECLARE @given int;
EXEC @given = sp_releaseapplock @Resource = @P1, @LockOwner = N'Session';
SELECT @given AS given

-- driver lock_take
-- Takes a lock of the session, by name. It goes with the session, or is given back; it counts how often it was taken.
-- 1 name, 2 Exclusive or Shared, 3 for how many milliseconds to wait
DECLARE @taken int;
EXEC @taken = sp_getapplock @Resource = @P1, @LockMode = @P2, @LockOwner = N'Session', @LockTimeout = @P3;
SELECT @taken AS taken

-- driver open_transactions
-- How many transactions are open on this session.
SELECT @@TRANCOUNT AS transactions

-- driver ping
SELECT 1 AS alive

-- driver session
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON; SET NUMERIC_ROUNDABORT OFF; SET IMPLICIT_TRANSACTIONS OFF; SET NOCOUNT ON; SET XACT_ABORT ON; SET LANGUAGE us_english; SET TEXTSIZE 2147483647; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT 2000

-- fence_hold
SELECT term, [open] FROM [tenure_fences] WITH (REPEATABLEREAD, ROWLOCK) WHERE name = @B1

-- fence_lock
INSERT INTO [tenure_fences] (name, term, [open])
SELECT @B1, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM [tenure_fences] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1);
UPDATE [tenure_fences] WITH (ROWLOCK) SET term = term WHERE name = @B1

-- fence_write
UPDATE [tenure_fences] WITH (ROWLOCK) SET term = @P2, [open] = @P3 WHERE name = @B1

-- history_add
INSERT INTO [tenure_lease_history] (name, term, cause, node, incarnation, machine, pid, at)
VALUES (@B1, @P2, @P3, @P4, @P5, @P6, @P7, @P8)

-- history_last_term
SELECT max(term) AS term FROM [tenure_lease_history] WHERE name = @B1

-- history_list
SELECT TOP (@P2) name, term, cause, node, incarnation, machine, pid,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us
FROM [tenure_lease_history]
WHERE @B1 IS NULL OR name = @B1
ORDER BY id DESC

-- lease_forgotten
SELECT TOP (@P2) name FROM [tenure_leases]
WHERE backend <> @P1 AND released_at IS NULL AND expires_at <= @now
ORDER BY name

-- lease_list
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM (SELECT 1 AS one) AS always
LEFT JOIN (SELECT TOP (@P1) * FROM [tenure_leases] ORDER BY name) AS l ON 1 = 1
ORDER BY l.name

-- lease_lock
SELECT name FROM [tenure_leases] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1

-- lease_read
SELECT l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us, DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us, l.presence, l.presence_trust_ms, DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
FROM (SELECT 1 AS one) AS always
LEFT JOIN [tenure_leases] AS l ON l.name = @B1

-- lease_renew
UPDATE [tenure_leases] WITH (ROWLOCK)
SET renewals = @P4,
    renewed_at = @now,
    expires_at = DATEADD(MICROSECOND, CAST(@P5 % 60000000 AS int), DATEADD(MINUTE, CAST(@P5 / 60000000 AS int), @now)),
    presence = @P6,
    presence_trust_ms = @P7
WHERE name = @B1
  AND term = @P2
  AND incarnation = @P3
  AND renewals < @P4
  AND released_at IS NULL
  AND revoked_at IS NULL
  AND expires_at > @now

-- lease_touch
UPDATE [tenure_leases] WITH (ROWLOCK)
SET renewed_at = @now,
    expires_at = DATEADD(MICROSECOND, CAST(@P4 % 60000000 AS int), DATEADD(MINUTE, CAST(@P4 / 60000000 AS int), @now))
WHERE name = @B1 AND term = @P2 AND claim = @P3 AND released_at IS NULL

-- lease_write
UPDATE [tenure_leases] WITH (ROWLOCK)
SET term = @P2, node = @P3, incarnation = @P4, claim = @P5, renewals = @P6, machine = @P7, pid = @P8, kind = @P9,
    backend = @P10, acquired_at = @P11, renewed_at = @P12, expires_at = @P13, released_at = @P14, revoked_at = @P15,
    presence = @P16, presence_trust_ms = @P17
WHERE name = @B1;
INSERT INTO [tenure_leases] (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms
)
SELECT @B1, @P2, @P3, @P4, @P5, @P6, @P7, @P8, @P9, @P10, @P11, @P12, @P13, @P14, @P15, @P16, @P17
WHERE NOT EXISTS (SELECT 1 FROM [tenure_leases] WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1)

-- migrations
-- 0001 leases, their history, audit
IF OBJECT_ID(N'[tenure_schema]', N'U') IS NULL
CREATE TABLE [tenure_schema] (
    version     int NOT NULL PRIMARY KEY,
    description nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    applied_at  datetime2(6) NOT NULL
);
IF OBJECT_ID(N'[tenure_leases]', N'U') IS NULL
CREATE TABLE [tenure_leases] (
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
ALTER TABLE [tenure_leases] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_fences]', N'U') IS NULL
CREATE TABLE [tenure_fences] (
    name   varbinary(200) NOT NULL PRIMARY KEY,
    term   bigint NOT NULL,
    [open] tinyint NOT NULL
);
ALTER TABLE [tenure_fences] SET (LOCK_ESCALATION = DISABLE);
IF OBJECT_ID(N'[tenure_lease_history]', N'U') IS NULL
CREATE TABLE [tenure_lease_history] (
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
IF OBJECT_ID(N'[tenure_audit]', N'U') IS NULL
CREATE TABLE [tenure_audit] (
    id      bigint IDENTITY NOT NULL PRIMARY KEY,
    at      datetime2(6) NOT NULL,
    actor   nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    action  nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    subject nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    detail  nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL
);
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (1, 'leases, their history, audit', SYSUTCDATETIME());

-- rollback
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION

-- schema_read
SELECT coalesce(max(version), 0) AS version FROM [tenure_schema]

-- schema_write
INSERT INTO [tenure_schema] (version, description, applied_at) VALUES (@P1, @P2, SYSUTCDATETIME())

-- tables_there
SELECT t.name AS name
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(coalesce(@P2, SCHEMA_NAME()))
  AND t.name COLLATE Latin1_General_100_BIN2 IN (
      SELECT asked.name COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@P1) WITH (name nvarchar(128) '$') AS asked
  )
