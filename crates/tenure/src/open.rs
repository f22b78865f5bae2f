//! From a URL to a store: changing the database is a change of configuration.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{
    AuditLog, CheckpointStore, ClusterStore, EventStore, LeaseAdmin, LeaseRegistry, LeaseStore,
    OperatorStores, OutboxAdmin, OutboxStore, RunnerStore, Schema, Stories,
};
use tenure_core::memory::MemoryStore;
use tenure_core::naming::Naming;

use crate::clock::SteadyStoreClock;
#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "mysql",
    feature = "sqlserver",
    feature = "etcd",
    feature = "kubernetes",
    feature = "kafka"
))]
use crate::heart;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where Tenure's tables live.
    pub naming: Naming,
    /// Whether a SQLite file that is not there is created.
    pub create: bool,
    /// How long to wait for a connection; `None` takes what the URL says, or 5 s.
    pub connect_timeout: Option<Duration>,
    /// What it is opened for.
    pub purpose: Purpose,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { naming: Naming::default(), create: true, connect_timeout: None, purpose: Purpose::Work }
    }
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// For leases, relays, events.
    #[default]
    Work,
    /// For an operator's tool, which asks for much and is not to be in anybody's way: few connections, and statements that
    /// are given up soon. A SQLite file that cannot be written to, a standby of Postgres or a role that may only read will do;
    /// what would change something is refused there. Nothing else is different.
    Looking {
        /// How long a statement may take.
        statement_timeout: Duration,
        /// How many connections there are at most.
        connections: u32,
    },
}

impl Purpose {
    /// Looking, with three connections and at most 2 s for a statement.
    pub const LOOKING: Self = Self::Looking { statement_timeout: Duration::from_secs(2), connections: 3 };
}

/// A store could not be opened. The message never holds a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL's scheme names no store.
    #[error(
        "unknown scheme `{scheme}:` in the store's URL; known are sqlite:, postgres:, mysql:, mariadb:, sqlserver: and \
         memory:, and for leases alone etcd:, kubernetes: and kafka:"
    )]
    UnknownScheme {
        /// The scheme that was given.
        scheme: String,
    },
    /// The text has no scheme at all.
    #[error(
        "the store's URL has no scheme; write for example sqlite:app.db, postgres://host/database, mysql://host/database or \
         sqlserver://host/database"
    )]
    NoScheme,
    /// This build leaves the store's crate out.
    #[error("this build has no support for {scheme}: (feature `{feature}` is off)")]
    LeftOut {
        /// The scheme that was given.
        scheme: &'static str,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// The URL's scheme is known, but the rest of it, or an option that goes with it, is not usable.
    #[error(transparent)]
    BadUrl(StoreError),
    /// The store refused, or could not be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An open store, seen through its contracts.
#[derive(Debug, Clone)]
pub struct Database {
    leases: Arc<dyn LeaseStore>,
    admin: Arc<dyn LeaseAdmin>,
    registry: Arc<dyn LeaseRegistry>,
    outbox: Arc<dyn OutboxStore>,
    outbox_admin: Arc<dyn OutboxAdmin>,
    events: Arc<dyn EventStore>,
    checkpoints: Arc<dyn CheckpointStore>,
    cluster: Arc<dyn ClusterStore>,
    audit: Arc<dyn AuditLog>,
    runners: Arc<dyn RunnerStore>,
    stories: Arc<dyn Stories>,
    schema: Arc<dyn Schema>,
}

/// A store that has all contracts.
pub trait Store:
    LeaseStore
    + LeaseAdmin
    + LeaseRegistry
    + OutboxStore
    + OutboxAdmin
    + EventStore
    + CheckpointStore
    + ClusterStore
    + AuditLog
    + RunnerStore
    + Stories
    + Schema
{
}

impl<S> Store for S where
    S: LeaseStore
        + LeaseAdmin
        + LeaseRegistry
        + OutboxStore
        + OutboxAdmin
        + EventStore
        + CheckpointStore
        + ClusterStore
        + AuditLog
        + RunnerStore
        + Stories
        + Schema
{
}

impl Database {
    /// Wraps a store that has all contracts.
    pub fn new(store: impl Store + 'static) -> Self {
        let store = Arc::new(store);
        Self {
            leases: store.clone(),
            admin: store.clone(),
            registry: store.clone(),
            outbox: store.clone(),
            outbox_admin: store.clone(),
            events: store.clone(),
            checkpoints: store.clone(),
            cluster: store.clone(),
            audit: store.clone(),
            runners: store.clone(),
            stories: store.clone(),
            schema: store,
        }
    }

    /// Leases.
    pub fn leases(&self) -> Arc<dyn LeaseStore> {
        self.leases.clone()
    }

    /// The operator's view of leases.
    pub fn admin(&self) -> Arc<dyn LeaseAdmin> {
        self.admin.clone()
    }

    /// The registry of holdings granted elsewhere.
    pub fn registry(&self) -> Arc<dyn LeaseRegistry> {
        self.registry.clone()
    }

    /// The outbox, as a relay sees it.
    pub fn outbox(&self) -> Arc<dyn OutboxStore> {
        self.outbox.clone()
    }

    /// The operator's view of the outbox.
    pub fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        self.outbox_admin.clone()
    }

    /// Events.
    pub fn events(&self) -> Arc<dyn EventStore> {
        self.events.clone()
    }

    /// The checkpoints of those who read events.
    pub fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
        self.checkpoints.clone()
    }

    /// The cluster: its nodes, and where its daemons are.
    pub fn cluster(&self) -> Arc<dyn ClusterStore> {
        self.cluster.clone()
    }

    /// What operators did.
    pub fn audit(&self) -> Arc<dyn AuditLog> {
        self.audit.clone()
    }

    /// What the loops of all processes say of themselves.
    pub fn runners(&self) -> Arc<dyn RunnerStore> {
        self.runners.clone()
    }

    /// Streams by name, and events by what they share.
    pub fn stories(&self) -> Arc<dyn Stories> {
        self.stories.clone()
    }

    /// All that an operator's tool needs. Give such a tool a database of its own, opened for
    /// [looking](Purpose::Looking), so that nothing waits for what it asks.
    pub fn for_operators(&self) -> OperatorStores {
        OperatorStores {
            leases: self.admin(),
            outbox: self.outbox_admin(),
            events: self.events(),
            stories: self.stories(),
            checkpoints: self.checkpoints(),
            cluster: self.cluster(),
            audit: self.audit(),
            runners: self.runners(),
            capabilities: self.leases.capabilities(),
        }
    }

    /// The schema.
    pub fn schema(&self) -> Arc<dyn Schema> {
        self.schema.clone()
    }
}

/// Opens the store that `url` names. The schema is neither checked nor changed.
///
/// The store's connections live on the heartbeat thread, so that a blocked runtime does not stop them.
pub async fn open(url: &str, options: OpenOptions) -> Result<Database, OpenError> {
    let (scheme, _) = url.split_once(':').ok_or(OpenError::NoScheme)?;
    match scheme {
        "memory" => Ok(Database::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())))),
        "sqlite" => open_sqlite(url, options).await,
        "postgres" | "postgresql" => open_postgres(url, options).await,
        "mysql" | "mariadb" => open_mysql(url, options).await,
        "sqlserver" | "mssql" => open_sqlserver(url, options).await,
        other => Err(unknown_scheme(other)),
    }
}

#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "mysql",
    feature = "sqlserver",
    feature = "etcd",
    feature = "kubernetes",
    feature = "kafka"
))]
pub(crate) fn bad_url(error: StoreError) -> OpenError {
    match error {
        StoreError::Refused { .. } => OpenError::BadUrl(error),
        other => OpenError::Store(other),
    }
}

/// Repeats only what looks like a scheme: a connection string of another kind may hold a password before its first colon.
fn unknown_scheme(text: &str) -> OpenError {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c);
    if text.is_empty() || text.len() > 20 || !text.chars().all(plain) {
        return OpenError::NoScheme;
    }
    OpenError::UnknownScheme { scheme: text.to_owned() }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(url: &str, options: OpenOptions) -> Result<Database, OpenError> {
    use tenure_sqlite::{SqliteOptions, SqliteStore};

    let mut sqlite = SqliteOptions::from_url(url).map_err(bad_url)?;
    sqlite.naming = options.naming;
    sqlite.create &= options.create;
    if let Purpose::Looking { statement_timeout, .. } = options.purpose {
        sqlite.browse_timeout = Some(statement_timeout);
        sqlite.looking = true;
    }
    sqlite.validate().map_err(bad_url)?;
    connected(SqliteStore::connect(sqlite)).await
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: &str, _: OpenOptions) -> Result<Database, OpenError> {
    Err(OpenError::LeftOut { scheme: "sqlite", feature: "sqlite" })
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str, options: OpenOptions) -> Result<Database, OpenError> {
    use tenure_postgres::{PostgresOptions, PostgresStore};

    let mut postgres = PostgresOptions::from_url(url).map_err(bad_url)?;
    postgres.naming = options.naming;
    postgres.connect_timeout = options.connect_timeout.unwrap_or(postgres.connect_timeout);
    if let Purpose::Looking { statement_timeout, connections } = options.purpose {
        postgres.statement_timeout = statement_timeout;
        postgres.lock_timeout = postgres.lock_timeout.min(statement_timeout / 2);
        postgres.max_connections = connections;
        postgres.max_outbox_connections = connections;
        postgres.looking = true;
    }
    connected(PostgresStore::connect(postgres)).await
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: &str, _: OpenOptions) -> Result<Database, OpenError> {
    Err(OpenError::LeftOut { scheme: "postgres", feature: "postgres" })
}

#[cfg(feature = "mysql")]
async fn open_mysql(url: &str, options: OpenOptions) -> Result<Database, OpenError> {
    use tenure_mysql::{MySqlOptions, MySqlStore};

    let mut mysql = MySqlOptions::from_url(url).map_err(bad_url)?;
    mysql.naming = options.naming;
    mysql.connect_timeout = options.connect_timeout.unwrap_or(mysql.connect_timeout);
    if let Purpose::Looking { statement_timeout, connections } = options.purpose {
        mysql.statement_timeout = statement_timeout;
        mysql.lock_timeout = mysql.lock_timeout.min(statement_timeout / 2);
        mysql.max_connections = connections;
        mysql.max_outbox_connections = connections;
    }
    connected(async { Ok(MySqlStore::connect(mysql).await?.sql().clone()) }).await
}

#[cfg(not(feature = "mysql"))]
async fn open_mysql(_: &str, _: OpenOptions) -> Result<Database, OpenError> {
    Err(OpenError::LeftOut { scheme: "mysql", feature: "mysql" })
}

#[cfg(feature = "sqlserver")]
async fn open_sqlserver(url: &str, options: OpenOptions) -> Result<Database, OpenError> {
    use tenure_sqlserver::{SqlServerOptions, SqlServerStore};

    let mut sqlserver = SqlServerOptions::from_url(url).map_err(bad_url)?;
    sqlserver.naming = options.naming;
    sqlserver.connect_timeout = options.connect_timeout.unwrap_or(sqlserver.connect_timeout);
    if let Purpose::Looking { statement_timeout, connections } = options.purpose {
        sqlserver.statement_timeout = statement_timeout;
        sqlserver.lock_timeout = sqlserver.lock_timeout.min(statement_timeout / 2);
        sqlserver.max_connections = connections;
        sqlserver.max_outbox_connections = connections;
    }
    connected(async { Ok(SqlServerStore::connect(sqlserver).await?.sql().clone()) }).await
}

#[cfg(not(feature = "sqlserver"))]
async fn open_sqlserver(_: &str, _: OpenOptions) -> Result<Database, OpenError> {
    Err(OpenError::LeftOut { scheme: "sqlserver", feature: "sqlserver" })
}

/// A store with all contracts, connected.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "sqlserver"))]
async fn connected<S: Store + 'static>(
    connect: impl Future<Output = Result<S, StoreError>> + Send + 'static,
) -> Result<Database, OpenError> {
    Ok(Database::new(on_heartbeat_thread(connect).await?))
}

/// Connects on the heartbeat thread, where a store's connections live.
#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "mysql",
    feature = "sqlserver",
    feature = "etcd",
    feature = "kubernetes",
    feature = "kafka"
))]
pub(crate) async fn on_heartbeat_thread<S: Send + 'static>(
    connect: impl Future<Output = Result<S, StoreError>> + Send + 'static,
) -> Result<S, OpenError> {
    let connected = heart::spawn(connect).await.map_err(|error| StoreError::Failed {
        store: "store".into(),
        message: format!("connecting ended without an answer: {error}"),
        source: None,
    });
    Ok(connected??)
}

/// The statements that make the tables of the store that `url` names, for a DBA. Connects to nothing.
pub fn migrations(url: &str, naming: &Naming) -> Result<String, OpenError> {
    // Without any database there is nothing to name.
    let _ = naming;
    match url.split_once(':').ok_or(OpenError::NoScheme)?.0 {
        "memory" => Ok(String::new()),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(tenure_sqlite::migrations(naming)),
        #[cfg(not(feature = "sqlite"))]
        "sqlite" => Err(OpenError::LeftOut { scheme: "sqlite", feature: "sqlite" }),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(tenure_postgres::migrations(naming)),
        #[cfg(not(feature = "postgres"))]
        "postgres" | "postgresql" => Err(OpenError::LeftOut { scheme: "postgres", feature: "postgres" }),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(tenure_mysql::migrations(naming)),
        #[cfg(not(feature = "mysql"))]
        "mysql" | "mariadb" => Err(OpenError::LeftOut { scheme: "mysql", feature: "mysql" }),
        #[cfg(feature = "sqlserver")]
        "sqlserver" | "mssql" => Ok(tenure_sqlserver::migrations(naming)),
        #[cfg(not(feature = "sqlserver"))]
        "sqlserver" | "mssql" => Err(OpenError::LeftOut { scheme: "sqlserver", feature: "sqlserver" }),
        other => Err(unknown_scheme(other)),
    }
}
