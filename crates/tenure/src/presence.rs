//! The presence of this node on a store: one session, pinged in time, replaced when it breaks.
//!
//! Every lease that this node holds on the store with the same presence settings shares the session. It is opened with
//! the first grant and closed when the last one is gone, so that nodes which only wait cost the store nothing.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tenure_core::contract::{LeaseStore, PresenceSession};
use tenure_core::error::StoreError;
use tenure_core::lease::PresenceSettings;
use tenure_core::observe::METER;
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::watch;

use crate::{heart, node};

/// After a session broke or could not be opened: wait this long before the next try.
const REOPEN_AFTER: Duration = Duration::from_millis(500);

/// What the node's session is like just now.
#[derive(Debug, Clone)]
pub(crate) enum SessionState {
    /// There is none: not yet, not any more, or not on this store.
    Closed,
    /// It answers; its last answered ping started at `ping`.
    Open { session: Arc<dyn PresenceSession>, ping: Monotonic },
}

/// Hands out the node's session on one store.
#[derive(Debug)]
pub(crate) struct NodePresence {
    store: Arc<dyn LeaseStore>,
    clock: Arc<dyn Clock>,
    /// One session for each way to keep it: leases that want other pings do not wait for each other's.
    running: Mutex<Vec<(PresenceSettings, Weak<Running>)>>,
}

/// The session task runs as long as someone holds one of these.
#[derive(Debug)]
pub(crate) struct Running {
    state: watch::Receiver<SessionState>,
}

impl Running {
    /// Follows the session.
    pub(crate) fn follow(&self) -> watch::Receiver<SessionState> {
        self.state.clone()
    }
}

impl NodePresence {
    pub(crate) fn new(store: Arc<dyn LeaseStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, running: Mutex::default() }
    }

    /// The running session task, started if nobody holds it yet; `None` where the store has no presence.
    pub(crate) fn join(&self, settings: &PresenceSettings) -> Option<Arc<Running>> {
        self.store.presence()?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(_, running)| running.strong_count() > 0);
        let same = running.iter().find(|(kept, _)| kept == settings);
        if let Some(running) = same.and_then(|(_, running)| running.upgrade()) {
            return Some(running);
        }
        let (sender, state) = watch::channel(SessionState::Closed);
        let started = Arc::new(Running { state });
        running.push((settings.clone(), Arc::downgrade(&started)));
        let task = Pinger {
            store: self.store.clone(),
            clock: self.clock.clone(),
            settings: settings.clone(),
            state: sender,
            wanted: Arc::downgrade(&started),
        };
        heart::spawn(task.run());
        Some(started)
    }
}

struct Pinger {
    store: Arc<dyn LeaseStore>,
    clock: Arc<dyn Clock>,
    settings: PresenceSettings,
    state: watch::Sender<SessionState>,
    wanted: Weak<Running>,
}

impl Pinger {
    async fn run(self) {
        while self.wanted.strong_count() > 0 {
            let session = match self.open().await {
                Ok(session) => session,
                Err(error @ StoreError::Pooled { .. }) => {
                    tracing::info!(%error, "no presence here: the ttl alone decides when a holder is gone");
                    return;
                }
                Err(error) => {
                    METER.presence_broken.add(0, 1);
                    tracing::warn!(%error, "no presence session; leases live by their ttl meanwhile");
                    tokio::time::sleep(REOPEN_AFTER).await;
                    continue;
                }
            };
            if let Err(error) = self.ping(&session).await {
                METER.presence_broken.add(0, 1);
                tracing::warn!(%error, "the presence session broke; leases live by their ttl meanwhile");
            }
            self.state.send_replace(SessionState::Closed);
            session.close().await;
        }
    }

    async fn open(&self) -> Result<Arc<dyn PresenceSession>, StoreError> {
        let started = self.clock.now();
        let Some(presence) = self.store.presence() else { return Err(silent()) };
        let session = presence.open(node::random_unique(), self.settings.idle_timeout).await?;
        self.state.send_replace(SessionState::Open { session: session.clone(), ping: started });
        Ok(session)
    }

    /// Pings until the session breaks, or until nobody needs it any more.
    async fn ping(&self, session: &Arc<dyn PresenceSession>) -> Result<(), StoreError> {
        loop {
            tokio::time::sleep(self.settings.ping).await;
            if self.wanted.strong_count() == 0 {
                return Ok(());
            }
            let started = self.clock.now();
            // After so much silence the store has ended the session by itself. The connection serves nothing else and
            // is thrown away whole, so that no call is left half-way on one that is used again.
            tokio::time::timeout(self.settings.idle_timeout, session.ping())
                .await
                .map_err(|_| silent())??;
            METER.presence_pings.add(0, 1);
            self.state.send_replace(SessionState::Open { session: session.clone(), ping: started });
        }
    }
}

fn silent() -> StoreError {
    StoreError::Unreachable { store: "the presence session".into(), message: "no answer to a ping".into() }
}
