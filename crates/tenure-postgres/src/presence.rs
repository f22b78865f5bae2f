//! Presence: one session per node, on which each grant raises a flag that falls with the session.
//!
//! A flag is an advisory lock of the session. The session is pinged and used for nothing that could block; the server
//! ends it after a silence. A contender waits for the same lock in shared mode on a connection of its own, and has it
//! within milliseconds after the flag fell.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Presence, PresenceSession, Raise, Watch};
use tenure_core::id::Unique;
use tenure_core::lease::Flag;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::connect::Link;
use crate::error::{pooled, store_error, unreachable};
use crate::statements;
use crate::store::{PostgresStore, Shared};
use crate::wait::{WAIT_GRACE, Wait};

/// How long an answer on the presence session is waited for. Its holder has stopped trusting it long before.
const ANSWER: Duration = Duration::from_secs(5);

/// How long after its last answer a link is used without asking whether it lives. It will show: by an error, or silence.
const FRESH: Duration = Duration::from_secs(30);

#[async_trait]
impl Presence for PostgresStore {
    async fn open(&self, id: Unique, idle_timeout: Duration) -> Result<Arc<dyn PresenceSession>, StoreError> {
        let shared = Arc::clone(&self.shared);
        if shared.pooled {
            return Err(pooled(&shared.label, "presence"));
        }
        let link = shared.connector.open("presence").await?;
        link.refuse_standby().await?;
        let silence = shared.modern.then_some(idle_timeout);
        link.run(&statements::watched_session(silence)).await?;
        let process = link.server_process().await?;
        let (handle, cutter) = (shared.connector.handle().clone(), link.cutter());
        let state = State { link: Some(link), up: HashSet::new() };
        let inner = Arc::new(Inner { shared, process, state: tokio::sync::Mutex::new(state) });
        Ok(Arc::new(Session { id, inner, cutter, handle }))
    }

    async fn watch(&self, flag: &Flag, patience: Duration) -> Result<Watch, StoreError> {
        let shared = &self.shared;
        if shared.pooled {
            return Err(pooled(&shared.label, "presence"));
        }
        let Ok(_turn) = shared.watchers.turns.try_acquire() else {
            let message = "all connections for watching are in use".into();
            return Err(StoreError::Busy { store: shared.label.clone(), message });
        };
        // If this future is dropped, so is the link: the server notices within a second, or at the wait's end.
        let wait = Wait::new(patience);
        if let Some(link) = shared.idle_watch_link().await {
            match shared.watch_on(link, flag, wait).await {
                // It had died since its last use, which says nothing about the server.
                Err(StoreError::Unreachable { .. }) => {}
                answer => return answer,
            }
        }
        shared.watch_on(shared.open_watch_link().await?, flag, wait).await
    }
}

/// The connections on which flags are watched.
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

impl Shared {
    /// A link of an earlier watch. One that answered a moment ago is not asked whether it lives: a waiting node would ask
    /// that once a watch.
    async fn idle_watch_link(&self) -> Option<Link> {
        while let Some((link, answered)) = self.watchers.idle() {
            let usable = if answered.elapsed() < FRESH { !link.is_closed() } else { link.is_alive().await };
            if usable {
                return Some(link);
            }
        }
        None
    }

    async fn open_watch_link(&self) -> Result<Link, StoreError> {
        let link = self.connector.open("watch").await?;
        link.refuse_standby().await?;
        link.run(&statements::waiting_session(self.modern)).await?;
        Ok(link)
    }

    /// Waits on one link, and keeps it for later if it has served.
    async fn watch_on(&self, link: Link, flag: &Flag, mut wait: Wait) -> Result<Watch, StoreError> {
        let mut outcome = Watch::StillUp;
        while outcome == Watch::StillUp
            && let Some(slice) = wait.next_slice()
        {
            outcome = self.watch_once(&link, flag, slice).await?;
        }
        self.watchers.keep(link);
        if outcome == Watch::StillUp {
            wait.rest().await;
        }
        Ok(outcome)
    }

    /// Waits for one slice.
    async fn watch_once(&self, link: &Link, flag: &Flag, slice: Duration) -> Result<Watch, StoreError> {
        let sql = self.statements.watch_flag(flag, slice);
        match timeout(slice + WAIT_GRACE, link.run(&sql)).await {
            Ok(Ok(())) => Ok(Watch::Fallen),
            // The lock was not had in time.
            Ok(Err(StoreError::Busy { .. })) => Ok(Watch::StillUp),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                link.cut();
                Err(unreachable(&self.label, "the server does not say whether the flag is up"))
            }
        }
    }
}

/// An open session.
#[derive(Debug)]
struct Session {
    id: Unique,
    inner: Arc<Inner>,
    /// Ends the connection even while a step on it waits for an answer.
    cutter: AbortHandle,
    handle: Handle,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cutter.abort();
    }
}

struct Inner {
    shared: Arc<Shared>,
    /// The server process that answers; another one means a pooler after all.
    process: i32,
    state: tokio::sync::Mutex<State>,
}

struct State {
    /// `None` once the session is closed or found broken.
    link: Option<Link>,
    /// Flags that are up: advisory locks count, so each is taken once.
    up: HashSet<Flag>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Inner {
    fn label(&self) -> &str {
        &self.shared.label
    }

    /// Any doubt about the session ends it: what is left of it must not keep flags up that nobody believes in.
    fn settle<T>(state: &mut State, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if outcome.is_err()
            && let Some(link) = state.link.take()
        {
            link.cut();
        }
        outcome
    }

    fn same_process(&self, process: i32) -> Result<(), StoreError> {
        if process == self.process { Ok(()) } else { Err(pooled(self.label(), "presence")) }
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        let outcome = match &state.link {
            None => Err(self.broken()),
            Some(link) => {
                let process = self.answer(link.server_process()).await;
                process.and_then(|process| self.same_process(process))
            }
        };
        Self::settle(&mut state, outcome)
    }

    async fn raise(&self, flag: Flag) -> Result<Raise, StoreError> {
        let mut state = self.state.lock().await;
        let outcome = match &state.link {
            None => Err(self.broken()),
            Some(_) if state.up.contains(&flag) => Ok(Raise::Raised),
            Some(link) => self.raise_on(link, &flag).await,
        };
        let raise = Self::settle(&mut state, outcome)?;
        if raise == Raise::Raised {
            state.up.insert(flag);
        }
        Ok(raise)
    }

    async fn raise_on(&self, link: &Link, flag: &Flag) -> Result<Raise, StoreError> {
        let sql = self.shared.statements.raise_flag(flag);
        let row = self.answer(link.one(&sql)).await?;
        let read = || Ok((row.try_get(0)?, row.try_get(1)?));
        let (had, process): (bool, i32) = read().map_err(|error| store_error(self.label(), error))?;
        self.same_process(process)?;
        Ok(if had { Raise::Raised } else { Raise::Collided })
    }

    async fn lower(&self, flag: Flag) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        let outcome = match &state.link {
            // With the session all its flags are down.
            None => return Ok(()),
            Some(_) if !state.up.contains(&flag) => return Ok(()),
            Some(link) => {
                let sql = self.shared.statements.lower_flag(&flag);
                self.answer(link.run(&sql)).await
            }
        };
        state.up.remove(&flag);
        Self::settle(&mut state, outcome)
    }

    async fn answer<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        timeout(ANSWER, call).await.unwrap_or_else(|_| Err(self.broken()))
    }

    fn broken(&self) -> StoreError {
        unreachable(self.label(), "the presence session is broken")
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
        self.inner.ping().await
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
        self.cutter.abort();
        let link = self.inner.state.lock().await.link.take();
        if let Some(link) = link {
            link.close().await;
        }
    }
}
