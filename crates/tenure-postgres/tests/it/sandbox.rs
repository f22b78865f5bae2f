//! A set of tables of its own for each test, and the means to look behind the store's back.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::contract::Schema as _;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, Renewal};
use tenure_core::naming::{Identifier, Naming};
use tenure_postgres::{PostgresOptions, PostgresStore};
use tokio_postgres::{Client, NoTls};

/// How a test reaches the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Direct,
    Pooled,
}

/// Tables of one test.
pub(crate) struct Sandbox {
    pub(crate) url: String,
    pub(crate) prefix: String,
    /// Always the direct one, for looking behind the store's back.
    direct: String,
}

impl Sandbox {
    /// Tables that are ready for use; `None`, said aloud, where there is no server.
    pub(crate) async fn new(mode: Mode) -> Option<Self> {
        let sandbox = Self::empty(mode)?;
        sandbox.store().await.migrate().await.expect("a schema");
        Some(sandbox)
    }

    /// A prefix under which there are no tables yet.
    pub(crate) fn empty(mode: Mode) -> Option<Self> {
        let direct = server("TENURE_TEST_POSTGRES_URL")?;
        let url = match mode {
            Mode::Direct => direct.clone(),
            Mode::Pooled => server("TENURE_TEST_PGBOUNCER_URL")?,
        };
        Some(Self { url, prefix: format!("t{:x}_", fresh() & 0xffff_ffff_ffff), direct })
    }

    /// The same tables, reached through the pooler.
    pub(crate) fn pooled(&self) -> Option<Self> {
        let url = server("TENURE_TEST_PGBOUNCER_URL")?;
        Some(Self { url, prefix: self.prefix.clone(), direct: self.direct.clone() })
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        let mut options = PostgresOptions::from_url(&self.url).expect("a test URL");
        options.naming = Naming { schema: None, prefix: Identifier::new("prefix", &self.prefix).unwrap() };
        options.application_name = self.prefix.clone();
        options
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::connect(self.options()).await.expect("a store")
    }

    /// A user's own connection, by the test's mode.
    pub(crate) async fn user(&self) -> Client {
        connect(&self.url).await
    }

    /// The same with sqlx.
    #[cfg(feature = "sqlx")]
    pub(crate) async fn sqlx(&self) -> sqlx::PgConnection {
        let options: sqlx::postgres::PgConnectOptions = self.url.parse().expect("a URL");
        // PgBouncer refuses this start-up parameter of sqlx unless it is told otherwise.
        sqlx::ConnectOptions::connect(&options.extra_float_digits(None)).await.expect("a connection")
    }

    /// A connection past any pooler.
    pub(crate) async fn superuser(&self) -> Client {
        connect(&self.direct).await
    }

    pub(crate) fn table(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }

    /// Ends sessions of this sandbox from the server's side, and returns how many there were.
    pub(crate) async fn terminate(&self, role: &str) -> usize {
        let pattern = format!("{} {role}%", self.prefix).replace('_', "\\_");
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1";
        self.superuser().await.query(sql, &[&pattern]).await.expect("terminated").len()
    }

    /// How many server processes serve this sandbox in that role.
    pub(crate) async fn processes(&self, role: &str) -> i64 {
        let pattern = format!("{}{role}%", self.prefix).replace('_', "\\_");
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE $1";
        self.superuser().await.query_one(sql, &[&pattern]).await.expect("a count").get(0)
    }
}

impl Sandbox {
    /// Returns when that many statements on this sandbox's tables wait for locks.
    pub(crate) async fn waiting_for_locks(&self, count: i64) {
        let client = self.superuser().await;
        let pattern = format!("{}%", self.prefix).replace('_', "\\_");
        let sql = "SELECT count(*) FROM pg_locks JOIN pg_class AS c ON c.oid = relation \
                   WHERE NOT granted AND c.relname LIKE $1";
        for _ in 0..100 {
            if client.query_one(sql, &[&pattern]).await.expect("a count").get::<_, i64>(0) >= count {
                return;
            }
            // passes time: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there are never {count} statements that wait for a lock");
    }
}

/// The URL in an environment variable; its absence is said aloud, and fails with `CI=true`.
pub(crate) fn server(variable: &str) -> Option<String> {
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

/// Writes past the test harness, which shows nothing of a test that passes; each line once.
pub(crate) fn say(line: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap().insert(line.to_owned()) {
        let _ = writeln!(std::io::stderr(), "tenure-postgres: {line}");
    }
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// A number that no other test has.
pub(crate) fn fresh() -> u128 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let count = u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    (time << 40) ^ (u128::from(std::process::id()) << 16) ^ count ^ (time >> 12)
}

pub(crate) fn unique() -> Unique {
    Unique::from_u128(fresh())
}

pub(crate) fn name(text: &str) -> LeaseName {
    LeaseName::new(text).unwrap()
}

pub(crate) fn claim(lease: &str, ttl: Duration) -> Claim {
    let node = Node { name: NodeName::new("n").unwrap(), incarnation: unique(), machine: "m".into(), pid: 7 };
    Claim { name: name(lease), node, id: unique(), ttl, kind: None, evidence: None }
}

pub(crate) fn renewal(number: u64) -> Renewal {
    Renewal { number, presence: None }
}

pub(crate) fn granted(answer: Acquire) -> Grant {
    match answer {
        Acquire::Granted(grant) => grant,
        Acquire::Held(holder) => panic!("held by {holder:?}"),
    }
}
