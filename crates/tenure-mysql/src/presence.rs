//! Presence: one session per node, on which each grant raises a flag that falls with the session.
//!
//! A flag is a named lock of the session. The session is pinged and used for nothing that could block; the server ends it
//! after a silence. A contender waits for the same lock on a connection of its own, has it within milliseconds after the
//! flag fell, and lets go of it at once, so that others who wait have it next.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Presence, PresenceSession, Raise, Watch};
use tenure_core::id::Unique;
use tenure_core::lease::Flag;
use tenure_sql::{Call, Columns as _, Fault, FaultKind, Row};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::error::{pooled, unreachable};
use crate::session::{Cutter, Link};
use crate::statements::{self, SESSION_NUMBER};
use crate::store::MySqlDriver;
use crate::wait::{WAIT_GRACE, Wait};

/// How long an answer on the presence session is waited for. Its holder has stopped trusting it long before.
const ANSWER: Duration = Duration::from_secs(5);

/// How long after its last answer a link is used without asking whether it lives. It will show: by an error, or silence.
const FRESH: Duration = Duration::from_secs(30);
/// How long an idle link may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// After how much idleness the server ends a link that has watched.
const IDLE: Duration = Duration::from_secs(120);

/// How often a flag that seems to be up is looked at, and how long lies between: one who watches it has it for a moment.
const LOOKS: u32 = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(3);

#[async_trait]
impl Presence for MySqlDriver {
    async fn open(&self, id: Unique, idle_timeout: Duration) -> Result<Arc<dyn PresenceSession>, StoreError> {
        self.refuse_pooled("presence")?;
        let connector = self.pool.connector();
        let (link, number) = connector.open_for_locks("presence", idle_timeout, self.flavour).await?;
        let (cutter, handle) = (link.cutter(), connector.handle().clone());
        let state = State { link: Some(link), up: HashSet::new() };
        let names = self.names.clone();
        let label = self.label.clone();
        let inner =
            Inner { label, names, flavour: self.flavour, number, state: tokio::sync::Mutex::new(state) };
        Ok(Arc::new(Session { id, inner: Arc::new(inner), cutter, handle }))
    }

    async fn watch(&self, flag: &Flag, patience: Duration) -> Result<Watch, StoreError> {
        self.refuse_pooled("presence")?;
        let Ok(_turn) = self.watchers.turns.try_acquire() else {
            let message = "all connections for watching are in use".into();
            return Err(StoreError::Busy { store: self.label.clone(), message });
        };
        // If this future is dropped, so is the link: the server notices within a second or two, or at the wait's end.
        let (wait, name) = (Wait::new(patience), self.names.flag(flag));
        if let Some(link) = self.idle_watch_link().await {
            match self.watch_on(link, &name, wait).await {
                // It had died since its last use, which says nothing about the server.
                Err(StoreError::Unreachable { .. }) => {}
                answer => return answer,
            }
        }
        let (link, _) = self.pool.connector().open_for_locks("watch", IDLE, self.flavour).await?;
        self.watch_on(link.for_waiting(), &name, wait).await
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

impl MySqlDriver {
    /// Presence and session locks need sessions that are real.
    pub(crate) fn refuse_pooled(&self, what: &str) -> Result<(), StoreError> {
        if self.capabilities.presence { Ok(()) } else { Err(pooled(&self.label, what)) }
    }

    /// Whether a flag is down on the server of this session.
    pub(crate) async fn look_at(
        &self,
        session: &mut dyn tenure_sql::Session,
        flag: &Flag,
    ) -> Result<bool, Fault> {
        if !self.capabilities.presence {
            return Ok(false);
        }
        let look = statements::lock_is_free(&self.names.flag(flag));
        for number in 1..=LOOKS {
            let answer = session.run(&Call::new(&look, [])).await?;
            if answer.rows.first().and_then(|row| row.number("free").ok().flatten()) == Some(1) {
                return Ok(true);
            }
            if number < LOOKS {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
        }
        Ok(false)
    }

    /// A link of an earlier watch. One that answered a moment ago is not asked whether it lives: a waiting node would ask
    /// that once a watch.
    async fn idle_watch_link(&self) -> Option<Link> {
        while let Some((mut link, answered)) = self.watchers.idle() {
            if !link.is_broken() && (answered.elapsed() < FRESH || link.ping(SIGN_OF_LIFE).await.is_ok()) {
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
            let text = statements::touch_lock(name, slice, self.flavour);
            let had = link.row(slice + WAIT_GRACE, text).await;
            if self.was_had(had)? {
                outcome = Watch::Fallen;
            }
        }
        self.watchers.keep(link);
        if outcome == Watch::StillUp {
            wait.rest().await;
        }
        Ok(outcome)
    }

    /// Whether a lock that was waited for is ours.
    pub(crate) fn was_had(&self, answer: Result<Row, Fault>) -> Result<bool, StoreError> {
        match answer.map(|row| row.number("had").ok().flatten()) {
            Ok(Some(had)) => Ok(had == 1),
            // MySQL fails a statement whose wait was too long.
            Err(fault) if fault.kind == FaultKind::Busy => Ok(false),
            Err(fault) => Err(fault.into_error(&self.label)),
            Ok(None) => {
                let message = "the server broke off a wait for a lock".into();
                Err(StoreError::Busy { store: self.label.clone(), message })
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
    names: crate::names::LockNames,
    flavour: crate::connect::Flavour,
    /// The server's number of the session that answers; another one means a proxy after all.
    number: i64,
    state: tokio::sync::Mutex<State>,
}

struct State {
    /// `None` once the session is closed or found broken.
    link: Option<Link>,
    /// Flags that are up: named locks count, so each is taken once.
    up: HashSet<Flag>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Inner {
    /// Asks on the session, and makes sure that it is the one that it was. Any doubt about the session ends it: what is left
    /// of it must not keep flags up that nobody believes in.
    async fn ask(&self, state: &mut State, text: String) -> Result<Row, StoreError> {
        let Some(link) = &mut state.link else { return Err(self.broken()) };
        let answer = link.row(ANSWER, text).await.map_err(|fault| fault.into_error(&self.label));
        let checked = answer.and_then(|row| match row.number("id") {
            Ok(Some(number)) if number == self.number => Ok(row),
            _ => Err(pooled(&self.label, "presence")),
        });
        if checked.is_err() {
            state.link = None;
        }
        checked
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        self.ask(&mut state, SESSION_NUMBER.into()).await.map(|_| ())
    }

    async fn raise(&self, flag: Flag) -> Result<Raise, StoreError> {
        let mut state = self.state.lock().await;
        if state.link.is_some() && state.up.contains(&flag) {
            return Ok(Raise::Raised);
        }
        let text = statements::get_lock(&self.names.flag(&flag), Duration::ZERO, self.flavour);
        let row = self.ask(&mut state, text).await?;
        if row.number("had").ok().flatten() != Some(1) {
            return Ok(Raise::Collided);
        }
        state.up.insert(flag);
        Ok(Raise::Raised)
    }

    async fn lower(&self, flag: Flag) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        // With the session all its flags are down.
        if state.link.is_none() || !state.up.remove(&flag) {
            return Ok(());
        }
        let text = statements::release_lock(&self.names.flag(&flag));
        self.ask(&mut state, text).await.map(|_| ())
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
        let link = self.inner.state.lock().await.link.take();
        if let Some(link) = link {
            link.close().await;
        }
    }
}
