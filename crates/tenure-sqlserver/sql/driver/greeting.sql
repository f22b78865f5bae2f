-- What a server is asked first: what it is, whether it can be written to, and where tables without a schema go.
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS version,
       CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), 4) AS int) AS major,
       CAST(SERVERPROPERTY('EngineEdition') AS int) AS edition,
       CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(60)) AS updateability,
       CAST((SELECT d.compatibility_level FROM sys.databases AS d WHERE d.database_id = DB_ID()) AS int) AS compatibility,
       CAST(
           (SELECT d.is_read_committed_snapshot_on FROM sys.databases AS d WHERE d.database_id = DB_ID()) AS int
       ) AS versions,
       SCHEMA_NAME() AS own_schema
