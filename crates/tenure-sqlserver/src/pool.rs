//! Connections that are used again, and whose turn it is to have one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_sql::Turn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::connect::Connector;
use crate::options::SqlServerOptions;
use crate::session::{Link, Trips};

/// From so many connections on, one is kept for looks at a cluster.
const GLANCE_FROM: u32 = 5;
/// A connection that was used a moment ago is not asked whether it lives.
const FRESH: Duration = Duration::from_secs(3);

/// The connections of a store. Those of heartbeats, looks and work are shared; there are fewer turns for work than
/// connections, so that a heartbeat always finds one. Outbox and events have connections of their own.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    trips: Trips,
    patience: Duration,
    work: Arc<Semaphore>,
    glance: Option<Arc<Semaphore>>,
    traffic: Arc<Semaphore>,
    idle: Mutex<Vec<(Link, Instant)>>,
    idle_max: usize,
}

impl Pool {
    pub(crate) fn new(options: &SqlServerOptions, connector: Connector, trips: Trips) -> Self {
        // One is left for heartbeats, and one for looks.
        let glances = options.max_connections >= GLANCE_FROM;
        let left = if glances { 2 } else { 1 };
        let turns = options.max_connections.saturating_sub(left).max(1) as usize;
        Self {
            connector,
            trips,
            patience: options.statement_timeout,
            work: Arc::new(Semaphore::new(turns)),
            glance: glances.then(|| Arc::new(Semaphore::new(1))),
            traffic: Arc::new(Semaphore::new(options.max_outbox_connections as usize)),
            idle: Mutex::default(),
            idle_max: (options.max_connections + options.max_outbox_connections) as usize,
        }
    }

    /// How long a statement may take.
    pub(crate) fn longest_statement(&self) -> Duration {
        self.patience
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// A connection that is ready for work, and the turn that goes with it.
    pub(crate) async fn get(&self, turn: Turn) -> Result<(Link, Option<OwnedSemaphorePermit>), StoreError> {
        let permit = match turn {
            // A wait has a connection beside all others.
            Turn::Heartbeat | Turn::Wait => None,
            Turn::Glance => Some(self.wait(self.glance.as_ref().unwrap_or(&self.work)).await?),
            Turn::Work => Some(self.wait(&self.work).await?),
            Turn::Traffic => Some(self.wait(&self.traffic).await?),
        };
        while let Some((mut link, used)) = self.pop() {
            if used.elapsed() < FRESH || link.ping().await.is_ok() {
                return Ok((link, permit));
            }
        }
        Ok((self.connector.open().await?.with_trips(self.trips), permit))
    }

    /// Takes a connection back on which nothing is under way.
    pub(crate) fn put(&self, link: Link) {
        if link.is_broken() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.idle_max {
            idle.push((link, Instant::now()));
        }
    }

    fn pop(&self) -> Option<(Link, Instant)> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    async fn wait(&self, turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, StoreError> {
        match timeout(self.patience, Arc::clone(turns).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => {
                let message = "too many calls wait for the server".into();
                Err(StoreError::Busy { store: self.connector.label().to_owned(), message })
            }
        }
    }
}
