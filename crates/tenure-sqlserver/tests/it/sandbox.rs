//! A set of tables of its own for each test, and the means to look behind the store's back.

use std::io::Write as _;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tenure_conformance::outbox::AuditLine;
use tenure_core::contract::Schema as _;
use tenure_core::naming::{Identifier, Naming};
use tenure_core::time::StoreTime;
use tenure_sql::SqlStore;
use tenure_sqlserver::{SqlServerOptions, SqlServerStore};
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt as _};
use url::Url;

/// A user's own connection.
pub(crate) type User = Client<Compat<TcpStream>>;

/// Tables of one test; they are dropped with it.
pub(crate) struct Sandbox {
    pub(crate) url: String,
    pub(crate) prefix: String,
}

impl Sandbox {
    /// Tables that are ready for use; `None`, said aloud, where there is no server.
    pub(crate) async fn new() -> Option<Self> {
        let sandbox = Self::empty()?;
        sandbox.sql().await.migrate().await.expect("a schema");
        Some(sandbox)
    }

    /// A prefix under which there are no tables yet.
    pub(crate) fn empty() -> Option<Self> {
        let url = url()?;
        Some(Self { url, prefix: format!("t{:x}_", fresh() & 0xffff_ffff_ffff) })
    }

    pub(crate) fn options(&self) -> SqlServerOptions {
        let mut options = SqlServerOptions::from_url(&self.url).expect("a test URL");
        options.naming = Naming { schema: None, prefix: Identifier::new("prefix", &self.prefix).unwrap() };
        options
    }

    pub(crate) async fn store(&self) -> SqlServerStore {
        SqlServerStore::connect(self.options()).await.expect("a store")
    }

    pub(crate) async fn sql(&self) -> SqlStore {
        self.store().await.sql().clone()
    }

    pub(crate) async fn user(&self) -> User {
        user(&self.url).await.expect("a connection")
    }

    pub(crate) fn table(&self, table: &str) -> String {
        format!("[{}{table}]", self.prefix)
    }

    /// Runs a text on a connection of its own, and gives the rows of its answer.
    pub(crate) async fn query(&self, sql: &str) -> Vec<tiberius::Row> {
        let mut user = self.user().await;
        let answer = user.simple_query(sql).await.expect("an answer");
        answer.into_first_result().await.expect("rows")
    }

    /// What operators did, of the actions that begin so.
    pub(crate) async fn audit(&self, actions: &str) -> Vec<AuditLine> {
        let sql = format!(
            "SELECT DATEDIFF_BIG(MICROSECOND, '1970-01-01', at), actor, action, subject, detail FROM {} \
             WHERE action LIKE N'{actions} %' ORDER BY id",
            self.table("audit")
        );
        let text = |row: &tiberius::Row, at: usize| row.get::<&str, _>(at).expect("a text").to_owned();
        let line = |row: &tiberius::Row| AuditLine {
            at: StoreTime::from_micros(row.get(0).expect("a moment")),
            by: text(row, 1),
            action: text(row, 2),
            subject: text(row, 3),
            detail: text(row, 4),
        };
        self.query(&sql).await.iter().map(line).collect()
    }

    /// Runs a statement about one name on a connection of its own, and says how many rows it concerned.
    pub(crate) async fn execute(&self, sql: String, name: &str) -> u64 {
        let mut user = self.user().await;
        user.execute(sql, &[&name.as_bytes()]).await.expect("executed").total()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let (url, prefix) = (self.url.clone(), self.prefix.clone());
        // A test's own runtime may be on its way out: another thread has one of its own.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let Some(mut user) = user(&url).await else { return };
                let tables = tenure_core::naming::TABLES.map(|table| format!("[{prefix}{table}]")).join(", ");
                // The last one is not ours, but the suites'.
                let sql = format!("SET LOCK_TIMEOUT 5000; DROP TABLE IF EXISTS {tables}, [{prefix}effects]");
                if let Ok(dropped) = user.simple_query(sql).await {
                    let _ = dropped.into_results().await;
                }
            });
        });
        let _ = dropping.join();
    }
}

async fn user(url: &str) -> Option<User> {
    let url: Url = url.parse().ok()?;
    let mut config = Config::new();
    config.host(url.host_str()?);
    config.port(url.port().unwrap_or(1433));
    config.database(url.path().trim_start_matches('/'));
    let decoded = |part: &str| {
        url::form_urlencoded::parse(format!("x={part}").as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
    };
    let password = url.password().and_then(decoded).or_else(|| std::env::var("MSSQL_PASSWORD").ok());
    config.authentication(AuthMethod::sql_server(decoded(url.username())?, password.unwrap_or_default()));
    config.encryption(EncryptionLevel::NotSupported);
    config.trust_cert();
    let stream = TcpStream::connect(config.get_addr()).await.ok()?;
    Client::connect(config, stream.compat_write()).await.ok()
}

/// The URL of a server; its absence is said aloud, once.
fn url() -> Option<String> {
    static SAID: Once = Once::new();
    let url = std::env::var("TENURE_TEST_SQLSERVER_URL").ok();
    if url.is_none() {
        // Past the test harness, which shows nothing of a test that passes.
        SAID.call_once(|| {
            let line =
                "TENURE_TEST_SQLSERVER_URL IS NOT SET: tests on SQL Server pass without having been run";
            let _ = writeln!(std::io::stderr(), "tenure-sqlserver: {line}");
        });
    }
    url
}

/// A number that no other test has.
pub(crate) fn fresh() -> u128 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let count = u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    (time << 40) ^ (u128::from(std::process::id()) << 16) ^ count ^ (time >> 12)
}
