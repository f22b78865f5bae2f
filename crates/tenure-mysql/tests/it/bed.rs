//! Tables of a test with a user of their own, by whom its sessions are known among all others of the server.

use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, Renewal};
use tenure_mysql::{MySqlOptions, MySqlStore};
use tenure_sql::SqlStore;

use crate::sandbox::{Sandbox, Server, fresh};

/// Longer than a connection of the pool is used without asking whether it lives.
pub(crate) const NOT_FRESH: Duration = Duration::from_millis(300);

/// A user with a set of tables; both are dropped with it.
pub(crate) struct Bed {
    pub(crate) sandbox: Sandbox,
    pub(crate) user: String,
    /// The test's URL with that user in it.
    pub(crate) url: String,
}

impl Bed {
    /// With tables that are ready for use; `None`, said aloud, where there is no server.
    pub(crate) async fn new(server: Server) -> Option<Self> {
        Self::with(Sandbox::new(server).await?, "ALL PRIVILEGES ON *.*").await
    }

    /// Without tables.
    pub(crate) async fn empty(server: Server) -> Option<Self> {
        Self::with(Sandbox::empty(server)?, "ALL PRIVILEGES ON *.*").await
    }

    /// With a user who may do this much: `SELECT ON tenure.x`, or nothing.
    pub(crate) async fn with(sandbox: Sandbox, rights: &str) -> Option<Self> {
        let user = sandbox.prefix.trim_end_matches('_').to_owned();
        let grant =
            if rights.is_empty() { String::new() } else { format!("; GRANT {rights} TO '{user}'@'%'") };
        run(&sandbox.url, format!("CREATE USER '{user}'@'%'{grant}")).await;
        let url = as_user(&sandbox.url, &user);
        Some(Self { sandbox, user, url })
    }

    pub(crate) fn options(&self) -> MySqlOptions {
        let mut options = MySqlOptions::from_url(&self.url).expect("a test URL");
        options.naming = self.sandbox.options().naming;
        options
    }

    pub(crate) async fn store(&self) -> MySqlStore {
        MySqlStore::connect(self.options()).await.expect("a store")
    }

    pub(crate) async fn sql(&self) -> SqlStore {
        self.store().await.sql().clone()
    }

    /// The numbers of the user's sessions that are of this state: `Sleep`, `Query`, `%`.
    pub(crate) async fn sessions(&self, command: &str) -> Vec<u64> {
        let mut root = self.sandbox.user().await;
        let sql = "SELECT CAST(id AS UNSIGNED) FROM information_schema.processlist \
                   WHERE user = ? AND command LIKE ?";
        let rows = sqlx::query(sql).bind(&self.user).bind(command).fetch_all(&mut root).await;
        rows.expect("a list").iter().map(|row| row.get(0)).collect()
    }

    /// Ends the user's sessions that are of this state, as an operator would, and says how many.
    pub(crate) async fn kill(&self, command: &str) -> usize {
        let sessions = self.sessions(command).await;
        for id in &sessions {
            kill(&mut self.sandbox.user().await, *id).await;
        }
        sessions.len()
    }

    /// Runs statements behind the store's back.
    pub(crate) async fn root(&self, sql: String) {
        run(&self.sandbox.url, sql).await;
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let (url, user) = (self.sandbox.url.clone(), self.user.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(&url, format!("DROP USER '{user}'@'%'")));
        });
        let _ = dropping.join();
    }
}

/// Ends a session; one that has ended by itself meanwhile is no fault.
pub(crate) async fn kill(root: &mut MySqlConnection, id: u64) {
    let _ = sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(root).await;
}

/// Runs statements on a connection of their own.
pub(crate) async fn run(url: &str, sql: String) {
    let options: MySqlConnectOptions = url.parse().expect("a URL");
    let mut connection = options.connect().await.expect("a connection");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("executed");
}

/// A URL with this before its `@`.
pub(crate) fn as_user(url: &str, login: &str) -> String {
    let (scheme, address) = url.split_once("://").unwrap();
    let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
    format!("{scheme}://{login}@{address}")
}

pub(crate) fn name(text: &str) -> LeaseName {
    LeaseName::new(text).unwrap()
}

pub(crate) fn unique() -> Unique {
    Unique::from_u128(fresh())
}

pub(crate) fn claim(lease: &str, ttl: Duration) -> Claim {
    let node = Node {
        name: NodeName::new("node-1").unwrap(),
        incarnation: unique(),
        machine: "test".into(),
        pid: std::process::id(),
    };
    Claim { name: name(lease), node, id: unique(), ttl, kind: None, evidence: None }
}

pub(crate) fn granted(answer: Acquire) -> Grant {
    match answer {
        Acquire::Granted(grant) => grant,
        Acquire::Held(record) => panic!("held by {}", record.node),
    }
}

pub(crate) fn renewal(number: u64) -> Renewal {
    Renewal { number, presence: None }
}

/// Runs a test on both servers: `on_both!(a_property, another)` makes `mariadb::a_property` and `mysql::a_property` of
/// `async fn a_property(server: Server)`.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod mariadb {
            $(#[tokio::test] async fn $name() { super::$name(crate::sandbox::Server::MariaDb).await })*
        }
        mod mysql {
            $(#[tokio::test] async fn $name() { super::$name(crate::sandbox::Server::MySql).await })*
        }
    };
}
pub(crate) use on_both;
