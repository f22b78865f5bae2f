//! The handle on a server.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, Presence};
use tenure_core::lease::Flag;
use tenure_sql::{Answer, Call, Driver, Fault, Lent, Session, SqlStore, Turn};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use crate::connect::{Connector, Flavour, Greeting};
use crate::error::unreachable;
use crate::options::MySqlOptions;
use crate::pool::Pool;
use crate::session::Link;
use crate::statements::{MIGRATIONS, QUOTES, TEXTS};

/// A database of MySQL or MariaDB. Clones share the connections. It has every contract through
/// [`MySqlStore::sql`].
#[derive(Debug, Clone)]
pub struct MySqlStore {
    sql: SqlStore,
    driver: Arc<MySqlDriver>,
}

impl MySqlStore {
    /// Connects, finds out what the server is, and says so.
    ///
    /// All connections live on the runtime of the caller, whichever runtime later calls come from. The schema is not
    /// looked at: see [`Schema`](tenure_core::contract::Schema).
    pub async fn connect(options: MySqlOptions) -> Result<Self, StoreError> {
        let label = options.label();
        options.validate()?;
        let runtime = Handle::try_current()
            .map_err(|_| unreachable(&label, "connect was called outside of a tokio runtime"))?;
        let connector = Connector::new(&options, runtime);
        let Greeting { flavour, version, several_counters } = connector.greet().await?;
        let pool = Arc::new(Pool::new(&options, connector, flavour));
        let capabilities = Capabilities {
            store: BACKEND.into(),
            presence: false,
            silence: false,
            fence_in_transaction: true,
            notes: Vec::new(),
        };
        tracing::info!(store = %label, %version, presence = capabilities.presence, "connected to MySQL");
        let driver = Arc::new(MySqlDriver { label, pool, flavour, capabilities, several_counters });
        let sql = SqlStore::new(driver.clone(), &TEXTS, MIGRATIONS, options.naming.clone(), QUOTES);
        Ok(Self { sql, driver })
    }

    /// The store through its contracts.
    pub fn sql(&self) -> &SqlStore {
        &self.sql
    }
}

/// What this store calls itself in rows.
const BACKEND: &str = "mysql";

/// MySQL, as the common store sees it.
pub(crate) struct MySqlDriver {
    pub(crate) label: String,
    pub(crate) pool: Arc<Pool>,
    pub(crate) flavour: Flavour,
    pub(crate) capabilities: Capabilities,
    pub(crate) several_counters: Option<&'static str>,
}

impl fmt::Debug for MySqlDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlDriver")
            .field("store", &self.label)
            .field("flavour", &self.flavour)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Driver for MySqlDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn label(&self) -> &str {
        &self.label
    }

    async fn lend(&self, turn: Turn) -> Result<Box<dyn Lent>, StoreError> {
        let (link, turn) = self.pool.get(turn).await?;
        Ok(Box::new(Borrowed { link, pool: Arc::clone(&self.pool), _turn: turn }))
    }

    async fn flag_is_down(&self, _session: &mut dyn Session, _flag: &Flag) -> Result<bool, Fault> {
        Ok(false)
    }

    fn presence(&self) -> Option<&dyn Presence> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn tells_given(&self) -> bool {
        true
    }

    fn several_counters(&self) -> Option<&str> {
        self.several_counters
    }

    async fn lock_migration(&self, session: &mut dyn Session) -> Result<(), Fault> {
        let _ = session;
        Ok(())
    }

    async fn unlock_migration(&self, session: &mut dyn Session) -> Result<(), Fault> {
        let _ = session;
        Ok(())
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
