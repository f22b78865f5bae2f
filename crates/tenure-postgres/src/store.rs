//! The handle on a server: what was found out at start, and the pool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tenure_core::StoreError;
use tenure_core::contract::Capabilities;
use tenure_core::naming::Naming;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::connect::{Connector, Link};
use crate::error::{store_error, unreachable};
use crate::fence::Fencing;
use crate::options::{PostgresOptions, Sessions};
use crate::outbox::OutboxPool;
use crate::presence::Watchers;
use crate::probe::{self, Found};
use crate::statements::{GREETING, Limits, Statements};

/// What this store calls itself in rows.
pub(crate) const BACKEND: &str = "postgres";

/// Version 14 of Postgres: the first that ends silent sessions and looks after clients that are gone.
const VERSION_14: i32 = 140_000;

/// From so many connections on, one is kept for looks at a cluster.
const GLANCE_FROM: u32 = 5;

/// How much longer than the server's own limit we wait for an answer.
const GRACE: Duration = Duration::from_secs(2);

/// Leases in a Postgres database. Clones share the connections.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// What errors and logs call this store.
    pub(crate) label: String,
    pub(crate) naming: Naming,
    pub(crate) statements: Statements,
    pub(crate) limits: Limits,
    /// How long an answer is waited for before the link counts as dead.
    pub(crate) patience: Duration,
    /// Opens connections that are not of the pool.
    pub(crate) connector: Connector,
    pub(crate) pool: Pool,
    /// Turns for all but heartbeats and looks at a cluster: fewer than connections, so that those find one.
    pub(crate) turns: Semaphore,
    /// The turn of looks at a cluster, where there are connections enough for one.
    pub(crate) glances: Option<Semaphore>,
    /// Whether a transaction pooler stands between.
    pub(crate) pooled: bool,
    /// Whether the server can end silent sessions and look after clients that are gone.
    pub(crate) modern: bool,
    /// Whether it is only looked at.
    pub(crate) looking: bool,
    pub(crate) capabilities: Capabilities,
    pub(crate) watchers: Watchers,
    pub(crate) outbox: OutboxPool,
}

impl PostgresStore {
    /// Connects, finds out what stands between this program and the server, and says so.
    ///
    /// All connections live on the runtime of the caller, whichever runtime later calls come from. The schema is not
    /// looked at: see [`Schema`](tenure_core::contract::Schema).
    pub async fn connect(options: PostgresOptions) -> Result<Self, StoreError> {
        let label = options.label();
        options.validate()?;
        let runtime = Handle::try_current()
            .map_err(|_| unreachable(&label, "connect was called outside of a tokio runtime"))?;
        let connector = Connector::new(&options, runtime)?;
        let link = connector.open("probe").await?;
        let (version, read_only) = greet(&link, &label).await?;
        if let Some(message) = read_only.filter(|_| !options.looking) {
            return Err(StoreError::ReadOnly { store: label, message: message.into() });
        }
        let modern = version >= VERSION_14;
        let found = match options.sessions {
            Sessions::Probe => probe::sessions(&connector, &link).await?,
            Sessions::Real => Found::Real,
            Sessions::Pooled => Found::Pooled,
        };
        link.close().await;
        let capabilities = capabilities(found, modern);
        tracing::info!(store = %label, presence = capabilities.presence, silence = capabilities.silence,
            notes = ?capabilities.notes, "connected to Postgres");
        let mut shared = Shared::new(&options, connector, found, modern, capabilities)?;
        shared.limits.read_only = read_only.is_some();
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What checks fences in the user's own transactions; cheap to clone.
    pub fn fencing(&self) -> Fencing {
        Fencing::new(&self.shared.statements.fence_check, &self.shared.label)
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("store", &self.shared.label)
            .field("naming", &self.shared.naming)
            .field("capabilities", &self.shared.capabilities)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn new(
        options: &PostgresOptions,
        connector: Connector,
        found: Found,
        modern: bool,
        capabilities: Capabilities,
    ) -> Result<Self, StoreError> {
        let limits =
            Limits { lock: options.lock_timeout, statement: options.statement_timeout, read_only: false };
        let pooled = found == Found::Pooled;
        let opened = if pooled { connector.clone() } else { connector.with_opening(limits.session(modern)) };
        // One is left for heartbeats, and one for looks: a node must see what it is to run, however busy it is.
        let glances = options.max_connections >= GLANCE_FROM;
        let left = if glances { 2 } else { 1 };
        let turns = options.max_connections.saturating_sub(left).max(1) as usize;
        Ok(Self {
            label: options.label(),
            naming: options.naming.clone(),
            statements: Statements::new(&options.naming),
            limits,
            patience: options.statement_timeout + GRACE,
            pool: pool(options, opened, options.max_connections)?,
            connector,
            turns: Semaphore::new(turns),
            glances: glances.then(|| Semaphore::new(1)),
            pooled,
            modern,
            looking: options.looking,
            capabilities,
            watchers: Watchers::new(options.max_watches as usize),
            outbox: OutboxPool::new(options),
        })
    }
}

pub(crate) fn pool(options: &PostgresOptions, connector: Connector, size: u32) -> Result<Pool, StoreError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_connect(connector.config().clone(), connector, recycling);
    Pool::builder(manager)
        .max_size(size as usize)
        .runtime(Runtime::Tokio1)
        .create_timeout(Some(options.connect_timeout))
        .wait_timeout(Some(options.statement_timeout))
        .build()
        .map_err(|error| StoreError::Failed {
            store: options.label(),
            message: error.to_string(),
            source: None,
        })
}

/// Asks the server for its version, and why it cannot be written to, if so.
async fn greet(link: &Link, label: &str) -> Result<(i32, Option<&'static str>), StoreError> {
    let row = link.one(GREETING).await?;
    let read = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    let (version, standby, read_only): (i32, bool, bool) =
        read().map_err(|error| store_error(label, error))?;
    Ok(match (standby, read_only) {
        (true, _) => (version, Some("it is a standby; connect to the primary")),
        (false, true) => (version, Some("default_transaction_read_only is on for this role or database")),
        (false, false) => (version, None),
    })
}

fn capabilities(found: Found, modern: bool) -> Capabilities {
    let presence = found == Found::Real;
    let mut notes = Vec::new();
    if !presence {
        notes.push(
            "a transaction pooler stands between this program and the server: there is no presence, so after a crash \
             the ttl decides; session locks are refused"
                .to_owned(),
        );
    } else if !modern {
        notes.push(
            "the server is older than Postgres 14 and cannot end silent sessions: a frozen or cut-off holder is \
             noticed by its ttl only"
                .to_owned(),
        );
    }
    Capabilities {
        store: BACKEND.into(),
        presence,
        silence: presence && modern,
        fence_in_transaction: true,
        notes,
    }
}
