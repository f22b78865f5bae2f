//! Session locks: simple and quick, and lost with their session.
//!
//! Each lock has a connection of its own. A keeper pings it every second; when the connection breaks, or the server is
//! silent, the lock counts as lost at once, and the connection is cut, so that both sides agree.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::hash;
use tenure_core::lease::LeaseName;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::connect::Link;
use crate::error::{pooled, store_error, unreachable};
use crate::probe::{self, Found};
use crate::statements;
use crate::store::{PostgresStore, Shared};
use crate::wait::{WAIT_GRACE, Wait};

/// How often a lock's connection is pinged, and how long an answer may take.
const PING_EVERY: Duration = Duration::from_secs(1);
const PING_ANSWER: Duration = Duration::from_secs(3);
/// After how much silence the server ends a lock's session, where it can: a frozen holder must not hold for ever.
const SILENCE: Duration = Duration::from_secs(30);

/// Named locks of a Postgres database. They are shared by all programs that use the same schema and table prefix there.
pub struct PostgresLocks {
    shared: Arc<Shared>,
    /// The schema by which locks are told apart.
    schema: String,
    /// A connection left over from a try that found the lock taken.
    spare: Mutex<Option<Link>>,
}

impl PostgresStore {
    /// A provider of session locks. Behind a transaction pooler they cannot work, and are refused.
    pub async fn session_locks(&self) -> Result<PostgresLocks, StoreError> {
        let shared = Arc::clone(&self.shared);
        if shared.pooled {
            return Err(pooled(&shared.label, "a session lock"));
        }
        // What was true at start need not be true now: the address may lead to a pooler since.
        let link = shared.connector.open("probe").await?;
        if probe::sessions(&shared.connector, &link).await? == Found::Pooled {
            return Err(pooled(&shared.label, "a session lock"));
        }
        let schema = match &shared.naming.schema {
            Some(schema) => schema.to_string(),
            None => link.value(statements::CURRENT_SCHEMA).await?,
        };
        link.close().await;
        Ok(PostgresLocks { shared, schema, spare: Mutex::default() })
    }
}

impl fmt::Debug for PostgresLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLocks").field("store", &self.shared.label).finish_non_exhaustive()
    }
}

#[async_trait]
impl SessionLocks for PostgresLocks {
    fn backend(&self) -> &'static str {
        "session"
    }

    async fn try_lock(&self, name: &LeaseName) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let (link, key) = (self.link().await?, self.key(name));
        let row = link.one(&statements::try_lock(key)).await?;
        let had: bool = row.try_get(0).map_err(|error| store_error(&self.shared.label, error))?;
        if !had {
            *self.spare() = Some(link);
            return Ok(None);
        }
        self.held(name, key, link).await.map(Some)
    }

    async fn lock(
        &self,
        name: &LeaseName,
        patience: Duration,
    ) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let (link, key) = (self.link().await?, self.key(name));
        let mut wait = Wait::new(patience);
        while let Some(slice) = wait.next_slice() {
            match timeout(slice + WAIT_GRACE, link.run(&statements::wait_lock(key, slice))).await {
                Ok(Ok(())) => return self.held(name, key, link).await.map(Some),
                // The lock was not had in time.
                Ok(Err(StoreError::Busy { .. })) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    link.cut();
                    return Err(unreachable(&self.shared.label, "the server does not answer about a lock"));
                }
            }
        }
        wait.rest().await;
        *self.spare() = Some(link);
        Ok(None)
    }
}

impl PostgresLocks {
    async fn link(&self) -> Result<Link, StoreError> {
        let spare = self.spare().take();
        if let Some(link) = spare
            && link.is_alive().await
        {
            return Ok(link);
        }
        let link = self.shared.connector.open("lock").await?;
        link.run(&statements::waiting_session(self.shared.modern)).await?;
        Ok(link)
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Option<Link>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of schema, prefix, the word and the name.
    fn key(&self, name: &LeaseName) -> i64 {
        let parts = [self.schema.as_str(), self.shared.naming.prefix.as_str(), "lock", name.as_str()];
        hash::key(parts.map(str::as_bytes))
    }

    /// Sets the keeper over a lock that was just had.
    async fn held(&self, name: &LeaseName, key: i64, link: Link) -> Result<Arc<dyn SessionLock>, StoreError> {
        // The server may end a silent session only from now on, when there is someone who pings.
        link.run(&statements::watched_session(self.shared.modern.then_some(SILENCE))).await?;
        let process = link.server_process().await?;
        let link = Arc::new(link);
        let (held, _) = watch::channel(true);
        let held = Arc::new(held);
        let keeper = keep(Arc::clone(&link), process, Arc::clone(&held));
        let keeper = self.shared.connector.handle().spawn(keeper).abort_handle();
        Ok(Arc::new(PostgresLock { name: name.clone(), key, link, held, keeper }))
    }
}

/// Pings until the lock is lost.
async fn keep(link: Arc<Link>, process: i32, held: Arc<watch::Sender<bool>>) {
    let mut ended = link.ended();
    loop {
        // Ends early when the connection does; otherwise it is time for a ping.
        if timeout(PING_EVERY, ended.changed()).await.is_ok() {
            break;
        }
        let answer = timeout(PING_ANSWER, link.server_process()).await;
        if !matches!(answer, Ok(Ok(answered)) if answered == process) {
            break;
        }
    }
    held.send_replace(false);
    link.cut();
}

/// A lock that is held until it is dropped, given back or lost.
struct PostgresLock {
    name: LeaseName,
    key: i64,
    link: Arc<Link>,
    held: Arc<watch::Sender<bool>>,
    keeper: AbortHandle,
}

impl fmt::Debug for PostgresLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLock").field("name", &self.name).field("held", &self.is_held()).finish()
    }
}

/// The connection is cut rather than left to the keeper's end, so that the server knows at once.
impl Drop for PostgresLock {
    fn drop(&mut self) {
        self.held.send_replace(false);
        self.keeper.abort();
        self.link.cut();
    }
}

#[async_trait]
impl SessionLock for PostgresLock {
    fn name(&self) -> &LeaseName {
        &self.name
    }

    fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    async fn lost(&self) {
        // The sender lives as long as this lock, so the wait can only end by the value.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    async fn unlock(&self) -> Result<(), StoreError> {
        // Whoever asks must not believe in the lock while it is on its way back.
        if !self.held.send_replace(false) {
            return Ok(());
        }
        self.keeper.abort();
        let outcome = timeout(PING_ANSWER, self.link.run(&statements::unlock(self.key))).await;
        self.link.cut();
        // A broken connection has given the lock back as well, or will as soon as the server notices.
        match outcome {
            Ok(Ok(()) | Err(StoreError::Unreachable { .. })) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(unreachable(self.link.label(), "the server does not answer about a lock")),
        }
    }
}
