//! Presence: one session per node, on which each grant raises a flag that falls with the session.
//!
//! A flag is a lock of the session that it has alone. The session is pinged and used for nothing that could block. A contender
//! waits for the same lock in shared mode on a connection of its own, and has it as soon as the server has noticed that the
//! flag's session ended. The server does not end a session for its silence: one whose machine is gone without a word stands
//! until the server's own keep-alive gives it up, half a minute by default, and its grants live by their ttl.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Presence, PresenceSession, Raise, Watch};
use tenure_core::id::Unique;
use tenure_core::lease::Flag;
use tenure_sql::Fault;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::applock::{self, Mode, Names};
use crate::error::unreachable;
use crate::session::{Cutter, Link};
use crate::store::SqlServerDriver;
use crate::wait::{WAIT_GRACE, Wait};

/// How long an answer on the presence session is waited for. Its holder has stopped trusting it long before.
const ANSWER: Duration = Duration::from_secs(5);
/// How long after its last answer a link is used without asking whether it lives. It will show: by an error, or silence.
const FRESH: Duration = Duration::from_secs(30);
/// How long an idle link may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

#[async_trait]
impl Presence for SqlServerDriver {
    async fn open(
        &self,
        id: Unique,
        _idle_timeout: Duration,
    ) -> Result<Arc<dyn PresenceSession>, StoreError> {
        let connector = self.pool.connector();
        let mut link = connector.open().await?;
        link.set_patience(ANSWER);
        let (cutter, handle) = (link.cutter(), connector.handle().clone());
        let state = tokio::sync::Mutex::new(State { link: Some(link), up: HashSet::new() });
        let inner = Arc::new(Inner { label: self.label.clone(), names: self.names.clone(), state });
        Ok(Arc::new(Session { id, inner, cutter, handle }))
    }

    async fn watch(&self, flag: &Flag, patience: Duration) -> Result<Watch, StoreError> {
        let Ok(_turn) = self.watchers.turns.try_acquire() else {
            let message = "all connections for watching are in use".into();
            return Err(StoreError::Busy { store: self.label.clone(), message });
        };
        // If this future is dropped, so is the link: the server notices, or the wait ends.
        let (wait, name) = (Wait::new(patience), self.names.flag(flag));
        if let Some(link) = self.idle_watch_link().await {
            match self.watch_on(link, &name, wait).await {
                // It had died since its last use, which says nothing about the server.
                Err(StoreError::Unreachable { .. }) => {}
                answer => return answer,
            }
        }
        let link = self.pool.connector().open().await?.for_waiting();
        self.watch_on(link, &name, wait).await
    }
}

/// The connections on which flags are watched.
#[derive(Debug)]
pub(crate) struct Watchers {
    turns: Semaphore,
    /// With the moment of their last answers.
    idle: Mutex<Vec<(Link, Instant)>>,
}

impl Watchers {
    pub(crate) fn new(limit: usize) -> Self {
        Self { turns: Semaphore::new(limit), idle: Mutex::default() }
    }

    fn idle(&self) -> Option<(Link, Instant)> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a link for later watches; there are never more than turns.
    fn keep(&self, link: Link) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((link, Instant::now()));
    }
}

impl SqlServerDriver {
    /// A link of an earlier watch. One that answered a moment ago is not asked whether it lives: a waiting node would ask
    /// that once a watch.
    async fn idle_watch_link(&self) -> Option<Link> {
        while let Some((mut link, answered)) = self.watchers.idle() {
            link.set_patience(SIGN_OF_LIFE);
            if !link.is_broken() && (answered.elapsed() < FRESH || link.ping().await.is_ok()) {
                return Some(link);
            }
        }
        None
    }

    /// Waits on one link, and keeps it for later if it has served.
    async fn watch_on(&self, mut link: Link, name: &str, mut wait: Wait) -> Result<Watch, StoreError> {
        let mut outcome = Watch::StillUp;
        while outcome == Watch::StillUp
            && let Some(slice) = wait.next_slice()
        {
            if self.watch_once(&mut link, name, slice).await.map_err(|fault| fault.into_error(&self.label))? {
                outcome = Watch::Fallen;
            }
        }
        self.watchers.keep(link);
        if outcome == Watch::StillUp {
            wait.rest().await;
        }
        Ok(outcome)
    }

    /// Whether the flag falls within a slice. The lock is given back at once: others who watch share it meanwhile.
    async fn watch_once(&self, link: &mut Link, name: &str, slice: Duration) -> Result<bool, Fault> {
        link.set_patience(slice + WAIT_GRACE);
        let fallen = applock::take(link, name, Mode::Shared, slice).await?;
        if fallen {
            applock::give(link, name).await?;
        }
        Ok(fallen)
    }
}

/// An open session.
#[derive(Debug)]
struct Session {
    id: Unique,
    inner: Arc<Inner>,
    /// Ends the connection even while a step on it waits for an answer.
    cutter: Cutter,
    handle: Handle,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cutter.cut();
    }
}

struct Inner {
    label: String,
    names: Names,
    state: tokio::sync::Mutex<State>,
}

struct State {
    /// `None` once the session is closed or found broken.
    link: Option<Link>,
    /// Flags that are up: locks of a session count, so each is taken once.
    up: HashSet<Flag>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("store", &self.label).finish_non_exhaustive()
    }
}

impl Inner {
    /// Any doubt about the session ends it: what is left of it must not keep flags up that nobody believes in.
    fn settle<T>(&self, state: &mut State, outcome: Result<T, Fault>) -> Result<T, StoreError> {
        if outcome.is_err() {
            state.link = None;
        }
        outcome.map_err(|fault| fault.into_error(&self.label))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        let Some(link) = &mut state.link else { return Err(self.broken()) };
        let outcome = link.ping().await;
        self.settle(&mut state, outcome)
    }

    async fn raise(&self, flag: Flag) -> Result<Raise, StoreError> {
        let mut state = self.state.lock().await;
        let known = state.up.contains(&flag);
        let Some(link) = &mut state.link else { return Err(self.broken()) };
        if known {
            return Ok(Raise::Raised);
        }
        let outcome = applock::take(link, &self.names.flag(&flag), Mode::Exclusive, Duration::ZERO).await;
        if !self.settle(&mut state, outcome)? {
            return Ok(Raise::Collided);
        }
        state.up.insert(flag);
        Ok(Raise::Raised)
    }

    async fn lower(&self, flag: Flag) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        let known = state.up.remove(&flag);
        // With the session all its flags are down.
        let Some(link) = state.link.as_mut().filter(|_| known) else { return Ok(()) };
        let outcome = applock::give(link, &self.names.flag(&flag)).await;
        self.settle(&mut state, outcome)
    }

    fn broken(&self) -> StoreError {
        unreachable(&self.label, "the presence session is broken")
    }
}

impl Session {
    /// Runs a step to its end whether or not the caller stays: half a step would leave a flag up that nobody counts.
    async fn run<T: Send + 'static>(
        &self,
        step: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.handle.spawn(step).await.unwrap_or_else(|_| Err(self.inner.broken()))
    }
}

#[async_trait]
impl PresenceSession for Session {
    fn id(&self) -> Unique {
        self.id
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let inner = Arc::clone(&self.inner);
        self.run(async move { inner.ping().await }).await
    }

    async fn raise(&self, flag: &Flag) -> Result<Raise, StoreError> {
        let (inner, flag) = (Arc::clone(&self.inner), flag.clone());
        self.run(async move { inner.raise(flag).await }).await
    }

    async fn lower(&self, flag: &Flag) -> Result<(), StoreError> {
        let (inner, flag) = (Arc::clone(&self.inner), flag.clone());
        self.run(async move { inner.lower(flag).await }).await
    }

    async fn close(&self) {
        // What waits for an answer is not waited for.
        self.cutter.cut();
        self.inner.state.lock().await.link = None;
    }
}
