//! Session locks: simple and quick, and lost with their session.
//!
//! Each lock has a connection of its own. A keeper pings it twice a second; when the connection breaks, or the server is
//! silent, the lock counts as lost at once, and the connection is cut, so that both sides agree.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::LeaseName;
use tenure_sql::FaultKind;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::applock::{self, Mode};
use crate::session::{Cutter, Link};
use crate::store::{SqlServerDriver, SqlServerStore};
use crate::wait::{WAIT_GRACE, Wait};

/// How often a lock's connection is pinged, and how long an answer may take. The driver does not tell of a connection that
/// has ended until it is used.
const PING_EVERY: Duration = Duration::from_millis(500);
const PING_ANSWER: Duration = Duration::from_secs(3);

/// Named locks of a database. They are shared by all programs that use the same schema and table prefix there.
pub struct SqlServerLocks {
    driver: Arc<SqlServerDriver>,
    /// A connection left over from a try that found the lock taken.
    spare: Mutex<Option<Link>>,
}

impl SqlServerStore {
    /// A provider of session locks.
    pub fn session_locks(&self) -> SqlServerLocks {
        SqlServerLocks { driver: Arc::clone(&self.driver), spare: Mutex::default() }
    }
}

impl fmt::Debug for SqlServerLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlServerLocks").field("store", &self.driver.label).finish_non_exhaustive()
    }
}

#[async_trait]
impl SessionLocks for SqlServerLocks {
    fn backend(&self) -> &'static str {
        "session"
    }

    async fn try_lock(&self, name: &LeaseName) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        self.lock(name, Duration::ZERO).await
    }

    async fn lock(
        &self,
        name: &LeaseName,
        patience: Duration,
    ) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let (mut link, lock) = (self.link().await?, self.driver.names.lock(name));
        let mut wait = Wait::new(patience);
        while let Some(slice) = wait.next_slice() {
            link.set_patience(slice + WAIT_GRACE);
            let had = applock::take(&mut link, &lock, Mode::Exclusive, slice).await;
            if had.map_err(|fault| fault.into_error(&self.driver.label))? {
                return Ok(Some(self.held(name, lock, link)));
            }
        }
        *self.spare() = Some(link);
        wait.rest().await;
        Ok(None)
    }
}

impl SqlServerLocks {
    async fn link(&self) -> Result<Link, StoreError> {
        let spare = self.spare().take();
        if let Some(mut link) = spare {
            link.set_patience(PING_ANSWER);
            if link.ping().await.is_ok() {
                return Ok(link);
            }
        }
        Ok(self.driver.pool.connector().open().await?.for_waiting())
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Option<Link>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the keeper over a lock that was just had.
    fn held(&self, name: &LeaseName, lock: String, mut link: Link) -> Arc<dyn SessionLock> {
        link.set_patience(PING_ANSWER);
        let (held, cutter) = (Arc::new(watch::channel(true).0), link.cutter());
        let link = Arc::new(tokio::sync::Mutex::new(link));
        let handle = self.driver.pool.connector().handle().clone();
        let keeper = handle.spawn(keep(Arc::clone(&link), Arc::clone(&held))).abort_handle();
        let label = self.driver.label.clone();
        Arc::new(SqlServerLock { name: name.clone(), lock, label, link, cutter, held, keeper, handle })
    }
}

/// Pings until the lock is lost.
async fn keep(link: Arc<tokio::sync::Mutex<Link>>, held: Arc<watch::Sender<bool>>) {
    // Whatever ends this, the lock counts as lost: also the end of the runtime.
    let _lost = LostOnDrop(held);
    loop {
        tokio::time::sleep(PING_EVERY).await;
        let mut link = link.lock().await;
        if link.ping().await.is_err() {
            break link.end();
        }
    }
}

struct LostOnDrop(Arc<watch::Sender<bool>>);

impl Drop for LostOnDrop {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// A lock that is held until it is dropped, given back or lost.
struct SqlServerLock {
    name: LeaseName,
    /// The name that the server knows it by.
    lock: String,
    label: String,
    link: Arc<tokio::sync::Mutex<Link>>,
    cutter: Cutter,
    held: Arc<watch::Sender<bool>>,
    keeper: AbortHandle,
    handle: Handle,
}

impl fmt::Debug for SqlServerLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlServerLock").field("name", &self.name).field("held", &self.is_held()).finish()
    }
}

/// The connection is cut, so that the server knows at once.
impl Drop for SqlServerLock {
    fn drop(&mut self) {
        self.held.send_replace(false);
        self.keeper.abort();
        self.cutter.cut();
    }
}

#[async_trait]
impl SessionLock for SqlServerLock {
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
        let (link, keeper, lock) = (Arc::clone(&self.link), self.keeper.clone(), self.lock.clone());
        // To its end, whether or not the caller stays: nobody would give the lock back later.
        let released = self.handle.spawn(async move {
            // The keeper lets go of the link after its ping, if one is under way.
            let mut link = link.lock().await;
            keeper.abort();
            let released = applock::give(&mut *link, &lock).await;
            link.end();
            released
        });
        // A broken connection has given the lock back as well, or will as soon as the server notices.
        match released.await {
            Ok(Err(fault)) if fault.kind != FaultKind::Gone => Err(fault.into_error(&self.label)),
            _ => Ok(()),
        }
    }
}
