//! Connections that are used again, and whose turn it is to have one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_sql::{FaultKind, Turn};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connect::{Connector, Flavour};
use crate::options::MySqlOptions;
use crate::session::Link;
use crate::statements::Limits;
use crate::wait::WAIT_GRACE;

/// From so many connections on, one is kept for looks at a cluster.
const GLANCE_FROM: u32 = 5;
/// A connection that was used a moment ago is not asked whether it lives.
const FRESH: Duration = Duration::from_millis(200);
/// How long a statement may wait that does nothing else. Nobody is held up by it but who changes the definition of the table: a
/// node that is killed leaves its wait behind for so long.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(6);
/// How long an idle connection may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// The connections of a store. Those of heartbeats, looks and work are shared; there are fewer turns for work than
/// connections, so that a heartbeat finds one. Outbox and events have connections of their own, on the runtime of the first
/// who uses them: what they read and write is bulk, and nothing slow shares a thread with the heartbeat.
///
/// ```text
///   heartbeat ──────────────┐
///   look ──── glance (1) ───┼─▶ all (max_connections) ─▶ an idle connection, or a new one
///   work ──── work (−1, −2) ┘
///   traffic ─────────────────▶ traffic (max_outbox_connections) ─▶ the same
/// ```
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    /// The same for traffic, once there is any.
    bulk: OnceLock<Connector>,
    limits: Limits,
    flavour: Flavour,
    patience: Duration,
    all: Arc<Semaphore>,
    work: Arc<Semaphore>,
    glance: Option<Arc<Semaphore>>,
    traffic: Arc<Semaphore>,
    idle: Idle,
    idle_bulk: Idle,
}

/// Connections on which nothing is under way, and since when.
type Idle = Mutex<Vec<(Link, Instant)>>;

/// What a connection is used under. A call that nobody waits for any more runs to its end without it: heartbeats must not
/// queue up behind what was given up, say in a wait for a lock. It ends within the server's limits, and its connection too.
pub(crate) type Turns = Vec<OwnedSemaphorePermit>;

impl Pool {
    pub(crate) fn new(options: &MySqlOptions, connector: Connector, flavour: Flavour) -> Self {
        // One is left for heartbeats, and one for looks.
        let glances = options.max_connections >= GLANCE_FROM;
        let left = if glances { 2 } else { 1 };
        let turns = options.max_connections.saturating_sub(left).max(1) as usize;
        Self {
            connector,
            bulk: OnceLock::new(),
            limits: Limits { lock: options.lock_timeout, statement: options.statement_timeout },
            flavour,
            patience: options.statement_timeout,
            all: Arc::new(Semaphore::new(options.max_connections as usize)),
            work: Arc::new(Semaphore::new(turns)),
            glance: glances.then(|| Arc::new(Semaphore::new(1))),
            traffic: Arc::new(Semaphore::new(options.max_outbox_connections as usize)),
            idle: Mutex::default(),
            idle_bulk: Mutex::default(),
        }
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// A connection that is ready for work, under a turn.
    pub(crate) async fn get(&self, turn: Turn) -> Result<(Link, Turns), StoreError> {
        let turns: &[&Arc<Semaphore>] = match turn {
            Turn::Heartbeat => &[&self.all],
            // On a connection of its own, beyond the limit: whoever waits must not keep others from theirs.
            Turn::Wait => &[],
            Turn::Glance => &[self.glance.as_ref().unwrap_or(&self.work), &self.all],
            Turn::Work => &[&self.work, &self.all],
            Turn::Traffic => &[&self.traffic],
        };
        let turns = self.wait(turns).await?;
        if turn == Turn::Wait {
            return Ok((self.open_for_waiting().await?, turns));
        }
        let link = match self.idle_link(turn).await {
            Some(link) => link,
            None => self.connector_for(turn).open_for_work(&self.limits, self.flavour).await?,
        };
        Ok((link, turns))
    }

    /// One with limits of its own, that is never one of those that others use: what waits there waits for longer than a
    /// statement may take elsewhere, and the server ends it all the same.
    async fn open_for_waiting(&self) -> Result<Link, StoreError> {
        let statement = self.limits.statement.max(LONGEST_WAIT + WAIT_GRACE);
        let limits = Limits { statement, ..self.limits };
        let link = self.connector.open_for_work(&limits, self.flavour).await?;
        Ok(link.for_waiting().with_patience(statement + WAIT_GRACE))
    }

    /// Where the connections of traffic live.
    pub(crate) fn traffic_runtime(&self) -> &Handle {
        self.connector_for(Turn::Traffic).handle()
    }

    fn connector_for(&self, turn: Turn) -> &Connector {
        if turn != Turn::Traffic {
            return &self.connector;
        }
        self.bulk.get_or_init(|| match Handle::try_current() {
            Ok(handle) => self.connector.on(handle),
            Err(_) => self.connector.clone(),
        })
    }

    /// One that was used before, and lives.
    async fn idle_link(&self, turn: Turn) -> Option<Link> {
        while let Some((mut link, used)) = self.pop(turn) {
            if used.elapsed() < FRESH {
                return Some(link);
            }
            // The server has ended it by now, or is about to.
            if used.elapsed() + SIGN_OF_LIFE >= self.limits.idle() {
                continue;
            }
            match link.ping(SIGN_OF_LIFE).await {
                Ok(()) => return Some(link),
                // Its server went away or is silent, and so the others are as well: asking each would take as long again.
                Err(fault) if fault.kind == FaultKind::Gone => self.forget(),
                Err(_) => {}
            }
        }
        None
    }

    /// Takes a connection back on which nothing is under way.
    pub(crate) fn put(&self, link: Link, turn: Turn) {
        if link.is_broken() {
            return;
        }
        self.idle(turn).push((link, Instant::now()));
    }

    /// Forgets all that are idle: one was found broken, and what broke it (a restart, a cut) has broken the others.
    pub(crate) fn forget(&self) {
        for turn in [Turn::Work, Turn::Traffic] {
            let idle = std::mem::take(&mut *self.idle(turn));
            drop(idle);
        }
    }

    fn pop(&self, turn: Turn) -> Option<(Link, Instant)> {
        self.idle(turn).pop()
    }

    fn idle(&self, turn: Turn) -> std::sync::MutexGuard<'_, Vec<(Link, Instant)>> {
        let idle = if turn == Turn::Traffic { &self.idle_bulk } else { &self.idle };
        idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait(&self, queues: &[&Arc<Semaphore>]) -> Result<Turns, StoreError> {
        let until = tokio::time::Instant::now() + self.patience;
        let mut turns = Vec::with_capacity(queues.len());
        for queue in queues {
            match tokio::time::timeout_at(until, Arc::clone(queue).acquire_owned()).await {
                Ok(Ok(turn)) => turns.push(turn),
                _ => {
                    let message = "too many calls wait for the server".into();
                    return Err(StoreError::Busy { store: self.connector.label().to_owned(), message });
                }
            }
        }
        Ok(turns)
    }
}
