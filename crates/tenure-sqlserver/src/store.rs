//! The handle on a server.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, Presence};
use tenure_core::lease::Flag;
use tenure_sql::{Answer, Call, Driver, Fault, FaultKind, Lent, Session, SqlStore, Statements, Turn, Walked};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use crate::applock::{self, Mode, Names};
use crate::connect::Connector;
use crate::error::unreachable;
use crate::options::SqlServerOptions;
use crate::pool::Pool;
use crate::presence::Watchers;
use crate::session::{Link, Trips};
use crate::statements::{MIGRATIONS, QUOTES, TEXTS, walk};

/// What this store calls itself in rows.
const BACKEND: &str = "sqlserver";
/// What is said of a database without versions of rows.
const NO_VERSIONS: &str = "READ_COMMITTED_SNAPSHOT is off: no relay works here, for a message could overtake another one of its \
    source, and readers wait for transactions that write what they read. Let an administrator run ALTER DATABASE CURRENT SET \
    READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE, once";
/// How long a node waits for another one to migrate.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(60);

/// A database of SQL Server. Clones share the connections. It has every contract through [`SqlServerStore::sql`].
#[derive(Debug, Clone)]
pub struct SqlServerStore {
    sql: SqlStore,
    pub(crate) driver: Arc<SqlServerDriver>,
}

impl SqlServerStore {
    /// Connects, finds out what the server is, and says so.
    ///
    /// All connections live on the runtime of the caller, whichever runtime later calls come from. The schema is not
    /// looked at: see [`Schema`](tenure_core::contract::Schema).
    pub async fn connect(options: SqlServerOptions) -> Result<Self, StoreError> {
        let label = options.label();
        options.validate()?;
        let runtime = Handle::try_current()
            .map_err(|_| unreachable(&label, "connect was called outside of a tokio runtime"))?;
        let connector = Connector::new(&options, runtime);
        let greeting = connector.greet().await?;
        let capabilities = Capabilities {
            store: BACKEND.into(),
            presence: true,
            silence: false,
            fence_in_transaction: true,
            notes: if greeting.versions { Vec::new() } else { vec![NO_VERSIONS.into()] },
        };
        tracing::info!(
            store = %label,
            version = %greeting.version,
            one_trip = greeting.trips == Trips::One,
            "connected to SQL Server"
        );
        let driver = Arc::new(SqlServerDriver {
            names: Names::new(&options.naming, &greeting.schema),
            pool: Arc::new(Pool::new(&options, connector, greeting.trips)),
            watchers: Watchers::new(options.max_watches as usize),
            lock_timeout: options.lock_timeout,
            versions: greeting.versions,
            capabilities,
            label,
        });
        let sql = SqlStore::new(driver.clone(), &TEXTS, MIGRATIONS, options.naming.clone(), QUOTES);
        Ok(Self { sql, driver })
    }

    /// The store through its contracts.
    pub fn sql(&self) -> &SqlStore {
        &self.sql
    }
}

/// SQL Server, as the common store sees it.
pub(crate) struct SqlServerDriver {
    pub(crate) label: String,
    pub(crate) pool: Arc<Pool>,
    pub(crate) names: Names,
    pub(crate) watchers: Watchers,
    lock_timeout: Duration,
    /// Whether a statement sees one state of all that it reads.
    versions: bool,
    capabilities: Capabilities,
}

impl fmt::Debug for SqlServerDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlServerDriver").field("store", &self.label).finish_non_exhaustive()
    }
}

#[async_trait]
impl Driver for SqlServerDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn no_snapshots(&self) -> Option<&'static str> {
        (!self.versions).then_some(NO_VERSIONS)
    }

    async fn lend(&self, turn: Turn) -> Result<Box<dyn Lent>, StoreError> {
        let (link, turn) = self.pool.get(turn).await?;
        Ok(Box::new(Borrowed { link, pool: Arc::clone(&self.pool), _turn: turn }))
    }

    fn detach(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.pool.connector().handle().spawn(task);
    }

    fn longest_wait(&self) -> Duration {
        self.pool.longest_statement() * 3 / 4
    }

    /// All steps are one text: here a text can loop.
    async fn walk(
        &self,
        session: &mut dyn Session,
        statements: &Statements,
        after: &[u8],
        steps: u32,
    ) -> Result<Walked, Fault> {
        let text = walk(statements);
        Ok(Walked::of(session.run(&Call::new(&text, vec![after.into(), steps.into()])).await?.rows))
    }

    async fn flag_is_down(&self, session: &mut dyn Session, flag: &Flag) -> Result<bool, Fault> {
        applock::is_free(session, &self.names.flag(flag)).await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        Some(self)
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    async fn lock_migration(&self, session: &mut dyn Session) -> Result<(), Fault> {
        let (name, until) = (self.names.migration(), Instant::now() + MIGRATION_PATIENCE);
        // In short waits: an answer is waited for only so long.
        while Instant::now() < until {
            if applock::take(session, &name, Mode::Exclusive, self.lock_timeout).await? {
                return Ok(());
            }
        }
        let message = format!("another node has been migrating the schema for {MIGRATION_PATIENCE:?}");
        Err(Fault::new(FaultKind::Busy, message))
    }

    async fn unlock_migration(&self, session: &mut dyn Session) -> Result<(), Fault> {
        applock::give(session, &self.names.migration()).await
    }
}

/// A connection of the pool for one unit of work.
struct Borrowed {
    link: Link,
    pool: Arc<Pool>,
    _turn: Option<OwnedSemaphorePermit>,
}

#[async_trait]
impl Session for Borrowed {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        self.link.run(call).await
    }

    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        self.link.run_all(calls).await
    }
}

impl Lent for Borrowed {
    fn give_back(self: Box<Self>) {
        let Self { link, pool, .. } = *self;
        pool.put(link);
    }
}
