//! The handle on a server.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, Presence};
use tenure_core::lease::Flag;
use tenure_core::naming::Identifier;
use tenure_sql::{Answer, Call, Columns as _, Driver, Fault, FaultKind, Lent, Row, Session, SqlStore, Turn};
use tokio::runtime::Handle;

use crate::as_one::AsOne;
use crate::connect::{Connector, Flavour};
use crate::error::unreachable;
use crate::names::LockNames;
use crate::options::MySqlOptions;
use crate::pool::{LONGEST_WAIT, Pool, Turns};
use crate::presence::Watchers;
use crate::probe::{self, Found};
use crate::session::Link;
use crate::statements::{self, MIGRATIONS, QUOTES, TEXTS};

/// A database of MySQL or MariaDB. Clones share the connections. It has every contract through
/// [`MySqlStore::sql`].
#[derive(Debug, Clone)]
pub struct MySqlStore {
    sql: SqlStore,
    driver: Arc<MySqlDriver>,
    as_one: Arc<AsOne>,
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
        let connector = Connector::new(&options, runtime)?;
        let greeting = connector.greet().await?;
        let flavour = greeting.flavour;
        let naming = &options.naming;
        let database = naming.schema.as_ref().map_or_else(|| options.database(), Identifier::as_str);
        let names = LockNames::new(database, naming.prefix.as_str(), greeting.folds_names);
        let found = match greeting.many_writers {
            Some(_) => Found::Pooled,
            None => probe::sessions(&connector, flavour, &names).await?,
        };
        let capabilities = capabilities(found, greeting.many_writers.is_some());
        tracing::info!(store = %label, version = %greeting.version, presence = capabilities.presence,
            silence = capabilities.silence, notes = ?capabilities.notes, "connected to MySQL");
        let pool = Arc::new(Pool::new(&options, connector, flavour));
        let watchers = Watchers::new(options.max_watches as usize);
        let driver = Arc::new(MySqlDriver {
            label,
            pool,
            flavour,
            names,
            capabilities,
            watchers,
            several_counters: greeting.many_writers,
        });
        let sql = SqlStore::new(driver.clone(), &TEXTS, MIGRATIONS, options.naming.clone(), QUOTES);
        let as_one = Arc::new(AsOne::on(flavour, &sql));
        Ok(Self { sql, driver, as_one })
    }

    /// The store through its contracts.
    pub fn sql(&self) -> &SqlStore {
        &self.sql
    }

    /// How several statements are one in users' sessions.
    pub(crate) fn as_one(&self) -> Arc<AsOne> {
        Arc::clone(&self.as_one)
    }

    pub(crate) fn driver(&self) -> Arc<MySqlDriver> {
        Arc::clone(&self.driver)
    }
}

fn capabilities(found: Found, many_writers: bool) -> Capabilities {
    let presence = found == Found::Real;
    let mut notes = Vec::new();
    if many_writers {
        notes.push(
            "several servers take writes here (Galera, or group replication without a single primary), and named locks \
             are each server's own: there is no presence, so after a crash the ttl decides; session locks are refused. \
             LOCKS OF ROWS ARE EACH SERVER'S OWN AS WELL, AND SO ARE FENCES: they hold only if every program that uses \
             these tables writes to one and the same server (a single writer, with the others as its replicas); Tenure \
             cannot see whether that is so"
                .to_owned(),
        );
    } else if !presence {
        notes.push(
            "something between this program and the server shares connections among clients (ProxySQL, a router): \
             there is no presence, so after a crash the ttl decides; session locks are refused"
                .to_owned(),
        );
    }
    // With a single writer a fence holds here too, and can be checked; but nobody can tell that from here, so it is not
    // promised.
    let fence_in_transaction = !many_writers;
    Capabilities { store: BACKEND.into(), presence, silence: presence, fence_in_transaction, notes }
}

/// What this store calls itself in rows.
const BACKEND: &str = "mysql";

/// How long a node waits for another to migrate, and how long in one statement.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(60);
const MIGRATION_SLICE: Duration = Duration::from_secs(1);

/// MySQL, as the common store sees it.
pub(crate) struct MySqlDriver {
    pub(crate) label: String,
    pub(crate) pool: Arc<Pool>,
    pub(crate) flavour: Flavour,
    pub(crate) names: LockNames,
    pub(crate) watchers: Watchers,
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
        let (link, turns) = self.pool.get(turn).await?;
        Ok(Box::new(Borrowed { link: Some(link), turn, pool: Arc::clone(&self.pool), _turns: turns }))
    }

    fn detach(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.pool.traffic_runtime().spawn(task);
    }

    fn longest_wait(&self) -> Duration {
        LONGEST_WAIT
    }

    async fn flag_is_down(&self, session: &mut dyn Session, flag: &Flag) -> Result<bool, Fault> {
        self.look_at(session, flag).await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        self.capabilities.presence.then_some(self)
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn moves_at_once(&self) -> bool {
        self.flavour == Flavour::MariaDb
    }

    fn tells_given(&self) -> bool {
        true
    }

    fn several_counters(&self) -> Option<&str> {
        self.several_counters
    }

    async fn lock_migration(&self, session: &mut dyn Session) -> Result<(), Fault> {
        // Behind a proxy the lock would stay with whatever connection answered; some clusters refuse it altogether.
        if !self.capabilities.presence {
            return Ok(());
        }
        let text = statements::get_lock(&self.names.migration(), MIGRATION_SLICE, self.flavour);
        let until = Instant::now() + MIGRATION_PATIENCE;
        loop {
            let had = match session.run(&Call::new(&text, [])).await {
                Ok(answer) => answer.rows.first().and_then(|row| row.number("had").ok().flatten()),
                // MySQL fails a statement whose wait was too long; it may have had the lock at the last moment.
                Err(fault) if fault.kind == FaultKind::Busy => {
                    self.unlock_migration(session).await?;
                    Some(0)
                }
                Err(fault) => return Err(fault),
            };
            if had == Some(1) {
                return Ok(());
            }
            if Instant::now() >= until {
                let message = format!("another node has been migrating for {MIGRATION_PATIENCE:?}");
                return Err(Fault::new(FaultKind::Busy, message));
            }
        }
    }

    async fn unlock_migration(&self, session: &mut dyn Session) -> Result<(), Fault> {
        if !self.capabilities.presence {
            return Ok(());
        }
        session.run(&Call::new(statements::RELEASE_LOCKS, [])).await.map(|_| ())
    }
}

/// A connection of the pool for one unit of work.
struct Borrowed {
    /// `None` once it was given back.
    link: Option<Link>,
    turn: Turn,
    pool: Arc<Pool>,
    _turns: Turns,
}

impl Borrowed {
    fn link(&mut self) -> Result<&mut Link, Fault> {
        self.link.as_mut().ok_or_else(|| Fault::new(FaultKind::Gone, "the connection was given back"))
    }
}

/// One that broke in our hands says something of the others.
impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.link.as_ref().is_some_and(Link::was_found_dead) {
            self.pool.forget();
        }
    }
}

#[async_trait]
impl Session for Borrowed {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        self.link()?.run(call).await
    }

    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        self.link()?.run_all(calls).await
    }

    async fn run_as_one(&mut self, calls: &[Call<'_>]) -> Result<Vec<Row>, Fault> {
        self.link()?.run_as_one(calls).await
    }

    fn has_blocks(&self) -> bool {
        self.link.as_ref().is_some_and(Session::has_blocks)
    }
}

impl Lent for Borrowed {
    fn give_back(mut self: Box<Self>) {
        if let Some(link) = self.link.take() {
            self.pool.put(link, self.turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_several_servers_take_writes_no_fence_is_promised() {
        let (one, many) = (capabilities(Found::Real, false), capabilities(Found::Pooled, true));
        assert!(one.fence_in_transaction && one.presence && one.notes.is_empty());
        assert!(!many.fence_in_transaction && !many.presence);
        assert!(many.notes[0].contains("FENCES") && many.notes[0].contains("one and the same server"));
        let proxied = capabilities(Found::Pooled, false);
        assert!(proxied.fence_in_transaction && !proxied.presence, "transactions stay whole behind a proxy");
    }
}
