//! A store of its own for each test: a file, or tables with a prefix of their own on a server.

use std::io::{self, Write};
use std::process::Command;

use rusqlite::TransactionBehavior;
use tempfile::TempDir;
use tenure::core::naming::{Identifier, Naming, TABLES};
use tenure::postgres::{PostgresOptions, PostgresStore};
use tenure::sqlite::{SqliteOptions, SqliteStore};
use tenure::{Fence, FenceError, LeaseName, Term};
use tokio_postgres::NoTls;

use super::{Said, mysql, run, tenure};

/// Where one test keeps its leases, and a directory for everything else.
pub(crate) struct Store {
    kind: Kind,
    url: String,
    prefix: String,
    directory: TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    PgBouncer,
    MariaDb,
    MySql,
}

/// Runs a test on a store, or says aloud that it cannot.
pub(crate) fn on(name: &str, test: fn(&Store)) {
    let kind = match name {
        "sqlite" => Kind::Sqlite,
        "postgres" => Kind::Postgres,
        "pgbouncer" => Kind::PgBouncer,
        "mariadb" => Kind::MariaDb,
        "mysql" => Kind::MySql,
        other => panic!("no store is called {other}"),
    };
    if let Some(store) = Store::new(kind) {
        test(&store);
    }
}

/// The URL in an environment variable; its absence is said aloud, and fails with `CI=true`.
pub(crate) fn server(variable: &str) -> Option<String> {
    if let Some(url) = std::env::var(variable).ok().filter(|url| !url.is_empty()) {
        return Some(url);
    }
    let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    assert!(!ci, "{variable} is not set, and with CI=true that is a failure");
    // Past the capture of test output, which would keep it from being heard.
    let _ =
        writeln!(io::stderr(), "{variable} IS NOT SET: a test on that server passes without having been run");
    None
}

impl Store {
    fn new(kind: Kind) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let (url, prefix) = match kind {
            Kind::Sqlite => {
                let file = directory.path().join("leases.db");
                (format!("sqlite:{}", file.display()), "tenure_".into())
            }
            Kind::Postgres => (server("TENURE_TEST_POSTGRES_URL")?, fresh_prefix()),
            Kind::PgBouncer => (server("TENURE_TEST_PGBOUNCER_URL")?, fresh_prefix()),
            Kind::MariaDb => (server("TENURE_TEST_MARIADB_URL")?, fresh_prefix()),
            Kind::MySql => (server("TENURE_TEST_MYSQL_URL")?, fresh_prefix()),
        };
        Some(Self { kind, url, prefix, directory })
    }

    /// A file of its own.
    #[cfg(any(feature = "etcd", feature = "kafka", feature = "kubernetes"))]
    pub(crate) fn sqlite_file() -> Self {
        Self::new(Kind::Sqlite).expect("a file is to be had always")
    }

    /// Tables with a prefix of their own on the Postgres at `url`.
    pub(crate) fn at(url: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { kind: Kind::Postgres, url: url.into(), prefix: fresh_prefix(), directory }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.kind == Kind::Sqlite
    }

    /// MySQL or MariaDB.
    pub(crate) fn is_mysql(&self) -> bool {
        matches!(self.kind, Kind::MariaDb | Kind::MySql)
    }

    /// The same database, by a URL whose sessions are known to be of this test: by the name of the application, or by a
    /// user of its own.
    pub(crate) fn known_url(&self) -> String {
        match self.kind {
            Kind::Sqlite => self.url.clone(),
            Kind::Postgres | Kind::PgBouncer => {
                format!("{}?application_name={}", self.url, self.known_name())
            }
            Kind::MariaDb | Kind::MySql => {
                let mut url = url::Url::parse(&self.url).unwrap();
                let (user, database) = (self.known_name().to_owned(), url.path().trim_start_matches('/'));
                // A measurement makes a database of its own.
                self.execute(&format!(
                    "create user if not exists '{user}'@'%' identified by ''; grant all on {database}.* to '{user}'@'%'; \
                     grant all on `tenure\\_bench\\_%`.* to '{user}'@'%'"
                ));
                url.set_username(&user).unwrap();
                url.set_password(None).unwrap();
                url.into()
            }
        }
    }

    fn known_name(&self) -> &str {
        self.prefix.trim_end_matches('_')
    }

    /// Ends every session that was opened by [`Store::known_url`].
    pub(crate) fn end_known_sessions(&self) {
        let name = self.known_name();
        match self.kind {
            Kind::Sqlite => {}
            Kind::Postgres | Kind::PgBouncer => self.execute(&format!(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name like '{name}%'"
            )),
            Kind::MariaDb | Kind::MySql => block_on(mysql::end_sessions_of(&self.url, name)).unwrap(),
        }
    }

    /// How many sessions there are that were opened by [`Store::known_url`].
    pub(crate) fn known_sessions(&self) -> i64 {
        let name = self.known_name();
        let sql = match self.is_mysql() {
            true => format!("select count(*) from information_schema.processlist where user = '{name}'"),
            false => format!("select count(*) from pg_stat_activity where application_name like '{name}%'"),
        };
        self.count(&sql).unwrap()
    }

    /// Whether nobody holds the one lock of a SQLite file for long; others have no such lock.
    pub(crate) fn can_be_written(&self) -> bool {
        if !self.is_sqlite() {
            return true;
        }
        let mut connection = self.sqlite();
        connection.busy_timeout(std::time::Duration::from_millis(500)).unwrap();
        connection.transaction_with_behavior(TransactionBehavior::Immediate).is_ok()
    }

    /// A path for a file of the test's own.
    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// The contents of such a file; nothing when it is not there yet.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// `tenure` with arguments, on this store.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = tenure();
        command.args(args).args(["--db", &self.url, "--table-prefix", &self.prefix]);
        command
    }

    /// Runs `tenure` with arguments to its end.
    pub(crate) fn tenure(&self, args: &[&str]) -> Said {
        run(&mut self.command(args))
    }

    /// The rows of `tenure lease list`.
    pub(crate) fn leases(&self) -> Vec<serde_json::Value> {
        let listed = self.tenure(&["lease", "list", "--json"]).ok().json();
        listed.as_array().expect("an array").clone()
    }

    /// `TERM CAUSE` of every change of a lease, oldest first.
    pub(crate) fn history(&self, lease: &str) -> Vec<String> {
        let changes = self.tenure(&["lease", "history", lease, "--json"]).ok().json();
        let changes = changes.as_array().expect("an array").clone();
        let line =
            |change: &serde_json::Value| format!("{} {}", change["term"], change["cause"].as_str().unwrap());
        changes.iter().rev().map(line).collect()
    }

    /// Whether a write under this term would be let through now.
    pub(crate) fn fence_holds(&self, lease: &str, term: u64) -> bool {
        let fence = Fence { lease: LeaseName::new(lease).unwrap(), term: Term::new(term).unwrap() };
        let checked = match self.kind {
            Kind::Sqlite => self.check_sqlite(&fence),
            Kind::Postgres | Kind::PgBouncer => block_on(self.check_postgres(&fence)),
            Kind::MariaDb | Kind::MySql => block_on(mysql::check(&self.url, &self.prefix, &fence)),
        };
        match checked {
            Ok(()) => true,
            Err(FenceError::Fenced(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn check_sqlite(&self, fence: &Fence) -> Result<(), FenceError> {
        let options = SqliteOptions::from_url(&self.url).unwrap();
        let path = options.path.clone();
        let store = block_on(SqliteStore::connect(options)).unwrap();
        let mut connection = rusqlite::Connection::open(path).unwrap();
        connection.busy_timeout(super::PATIENCE).unwrap();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        store.fencing().check(&transaction, fence)
    }

    async fn check_postgres(&self, fence: &Fence) -> Result<(), FenceError> {
        let mut options = PostgresOptions::from_url(&self.url).unwrap();
        options.naming.prefix = Identifier::new("prefix", &self.prefix).unwrap();
        options.connect_timeout = super::PATIENCE;
        let store = PostgresStore::connect(options).await.unwrap();
        let (mut client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let transaction = client.transaction().await.unwrap();
        store.fencing().check(&transaction, fence).await
    }

    /// The name of a table, as it stands in SQL.
    pub(crate) fn table(&self, table: &str) -> String {
        let naming = Naming { schema: None, prefix: Identifier::new("prefix", &self.prefix).unwrap() };
        match self.is_mysql() {
            true => naming.table_quoted(table, ('`', '`')),
            false => naming.table(table),
        }
    }

    /// Runs statements behind the binary's back.
    pub(crate) fn execute(&self, sql: &str) {
        self.try_execute(sql).unwrap();
    }

    /// The same, on a server that may be away.
    pub(crate) fn try_execute(&self, sql: &str) -> Result<(), String> {
        match self.kind {
            Kind::Sqlite => self.sqlite().execute_batch(sql).map_err(|error| error.to_string()),
            Kind::Postgres | Kind::PgBouncer => {
                block_on(execute(&self.url, sql)).map_err(|error| error.to_string())
            }
            Kind::MariaDb | Kind::MySql => {
                // Delimiters are words of the client's.
                let sql = sql.replace("DELIMITER //\n", "").replace("//\nDELIMITER ;\n", ";\n");
                block_on(mysql::execute(&self.url, &sql))
            }
        }
    }

    /// One number.
    pub(crate) fn count(&self, sql: &str) -> Result<i64, String> {
        match self.kind {
            Kind::Sqlite => {
                self.sqlite().query_row(sql, [], |row| row.get(0)).map_err(|error| error.to_string())
            }
            Kind::Postgres | Kind::PgBouncer => block_on(async {
                let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
                tokio::spawn(connection);
                Ok(client.query_one(sql, &[]).await?.get(0))
            })
            .map_err(|error: tokio_postgres::Error| error.to_string()),
            Kind::MariaDb | Kind::MySql => block_on(mysql::count(&self.url, sql)),
        }
    }

    fn sqlite(&self) -> rusqlite::Connection {
        let path = SqliteOptions::from_url(&self.url).unwrap().path;
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.busy_timeout(super::PATIENCE).unwrap();
        connection
    }
}

/// Leaves nothing behind on a server that belongs to someone else.
impl Drop for Store {
    fn drop(&mut self) {
        if self.kind != Kind::Sqlite {
            // The last is that of the cluster's nodes under test.
            let tables: Vec<_> =
                TABLES.iter().chain(&["cluster_ledger"]).map(|table| self.table(table)).collect();
            let mut sql = format!("drop table if exists {} cascade;", tables.join(", "));
            if self.is_mysql() {
                sql.push_str(&format!("drop user if exists '{}'@'%'", self.known_name()));
            }
            let _ = self.try_execute(&sql);
        }
    }
}

async fn execute(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(sql).await
}

/// Waits for a future, in a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn fresh_prefix() -> String {
    format!("t_{:012x}_", fastrand::u64(..1 << 48))
}
