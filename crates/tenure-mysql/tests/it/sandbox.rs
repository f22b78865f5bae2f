//! A set of tables of its own for each test, and the means to look behind the store's back.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};
use tenure_core::contract::Schema as _;
use tenure_core::id::Unique;
use tenure_core::lease::{Acquire, Grant, LeaseName};
use tenure_core::naming::{Identifier, Naming};
use tenure_mysql::{MySqlOptions, MySqlStore};
use tenure_sql::SqlStore;

/// Which server a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    MariaDb,
    MySql,
}

/// Tables of one test; they are dropped with it.
pub(crate) struct Sandbox {
    pub(crate) url: String,
    pub(crate) prefix: String,
}

impl Sandbox {
    /// Tables that are ready for use; `None`, said aloud, where there is no server.
    pub(crate) async fn new(server: Server) -> Option<Self> {
        let sandbox = Self::empty(server)?;
        sandbox.sql().await.migrate().await.expect("a schema");
        Some(sandbox)
    }

    /// A prefix under which there are no tables yet.
    pub(crate) fn empty(server: Server) -> Option<Self> {
        let url = url(match server {
            Server::MariaDb => "TENURE_TEST_MARIADB_URL",
            Server::MySql => "TENURE_TEST_MYSQL_URL",
        })?;
        Some(Self { url, prefix: format!("t{:x}_", fresh() & 0xffff_ffff_ffff) })
    }

    pub(crate) fn options(&self) -> MySqlOptions {
        let mut options = MySqlOptions::from_url(&self.url).expect("a test URL");
        options.naming = Naming { schema: None, prefix: Identifier::new("prefix", &self.prefix).unwrap() };
        options
    }

    pub(crate) async fn store(&self) -> MySqlStore {
        MySqlStore::connect(self.options()).await.expect("a store")
    }

    pub(crate) async fn sql(&self) -> SqlStore {
        self.store().await.sql().clone()
    }

    /// A user's own connection.
    pub(crate) async fn user(&self) -> MySqlConnection {
        let options: MySqlConnectOptions = self.url.parse().expect("a URL");
        options.connect().await.expect("a connection")
    }

    /// A connection of a user that has no password.
    pub(crate) async fn user_named(&self, name: &str) -> MySqlConnection {
        let options: MySqlConnectOptions = self.url.parse().expect("a URL");
        options.username(name).connect().await.expect("a connection")
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, table: &str) -> u64 {
        let sql = format!("SELECT count(*) FROM {}", self.table(table));
        self.query(&sql).await[0].get::<i64, _>(0).cast_unsigned()
    }

    pub(crate) fn table(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }

    /// The connections on which a statement of these tables waits for a change of the cluster.
    pub(crate) async fn waiting(&self) -> Vec<u64> {
        let sql = format!(
            "SELECT id FROM information_schema.processlist WHERE info LIKE 'WITH RECURSIVE waiting%{}cluster%'",
            self.prefix
        );
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut self.user().await).await.expect("a list");
        found.iter().map(|row| row.try_get_unchecked(0).expect("a number")).collect()
    }

    /// Runs statements as they are.
    pub(crate) async fn batch(&self, sql: &str) {
        let mut user = self.user().await;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut user).await.expect("executed");
    }

    /// The rows of a statement, on a connection of its own.
    pub(crate) async fn query(&self, sql: &str) -> Vec<MySqlRow> {
        let mut user = self.user().await;
        sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut user).await.expect("rows")
    }

    /// Runs a statement on a connection of its own, and says how many rows it concerned.
    pub(crate) async fn execute(&self, sql: String, value: &str) -> u64 {
        let mut user = self.user().await;
        let done = sqlx::query(AssertSqlSafe(sql)).bind(value).execute(&mut user).await;
        done.expect("executed").rows_affected()
    }
}

/// Runs a test on each server.
pub(crate) fn on_both<F: Future<Output = ()>>(test: impl Fn(Sandbox) -> F) {
    for server in [Server::MariaDb, Server::MySql] {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            if let Some(sandbox) = Sandbox::new(server).await {
                test(sandbox).await;
            }
        });
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let (url, prefix) = (self.url.clone(), self.prefix.clone());
        // A test's own runtime may be on its way out: another thread has one of its own.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let options: MySqlConnectOptions = url.parse().expect("a URL");
                let Ok(mut connection) = options.connect().await else { return };
                // And what tests make beside them.
                let tables = tenure_core::naming::TABLES.into_iter().chain(["effects", "bare"]);
                let tables: Vec<_> = tables.map(|table| format!("`{prefix}{table}`")).collect();
                let tables = tables.join(", ");
                let _ = sqlx::raw_sql(AssertSqlSafe(format!(
                    "SET SESSION lock_wait_timeout = 5; DROP TABLE IF EXISTS {tables}; \
                     DROP PROCEDURE IF EXISTS {prefix}outbox_enqueue"
                )))
                .execute(&mut connection)
                .await;
            });
        });
        let _ = dropping.join();
    }
}

/// The URL in an environment variable; its absence is said aloud, and fails with `CI=true`.
pub(crate) fn url(variable: &str) -> Option<String> {
    if let Ok(url) = std::env::var(variable) {
        return Some(url);
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "{variable} is not set, and with CI=true that is a failure"
    );
    say(&format!("{variable} IS NOT SET: tests on that server pass without having been run"));
    None
}

/// A script as a server takes it, each statement to the end of a line: delimiters are the client's.
pub(crate) fn for_server(script: &str) -> String {
    let mut parts = script.split("DELIMITER //\n");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (statement, rest) = part.split_once("//\nDELIMITER ;\n").expect("an end");
        text.push_str(&format!("{};\n{rest}", statement.replace('\n', " ")));
    }
    text
}

/// Writes past the test harness, which shows nothing of a test that passes; each line once.
pub(crate) fn say(line: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap().insert(line.to_owned()) {
        let _ = writeln!(std::io::stderr(), "tenure-mysql: {line}");
    }
}

/// A number that no other test has.
pub(crate) fn fresh() -> u128 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let count = u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    (time << 40) ^ (u128::from(std::process::id()) << 16) ^ count ^ (time >> 12)
}

/// A lease's name.
pub(crate) fn name(text: &str) -> LeaseName {
    LeaseName::new(text).unwrap()
}

/// A random id.
pub(crate) fn unique() -> Unique {
    Unique::from_u128(fresh())
}

/// A lease that was to be had.
pub(crate) fn granted(acquire: Acquire) -> Grant {
    match acquire {
        Acquire::Granted(grant) => grant,
        other => panic!("{other:?}"),
    }
}
/// Makes tests of functions of a sandbox, one for each server.
macro_rules! on_each {
    ($($name:ident,)*) => {
        mod mariadb {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let server = crate::sandbox::Server::MariaDb;
                    let Some(sandbox) = crate::sandbox::Sandbox::new(server).await else { return };
                    super::$name(&sandbox).await;
                }
            )*
        }
        mod mysql {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let server = crate::sandbox::Server::MySql;
                    let Some(sandbox) = crate::sandbox::Sandbox::new(server).await else { return };
                    super::$name(&sandbox).await;
                }
            )*
        }
    };
}
pub(crate) use on_each;
