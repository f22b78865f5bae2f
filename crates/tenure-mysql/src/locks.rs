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
use tenure_sql::{Columns as _, FaultKind};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::error::pooled;
use crate::probe::{self, Found};
use crate::session::{Cutter, Link};
use crate::statements::{self, RELEASE_LOCKS, SESSION_NUMBER};
use crate::store::{MySqlDriver, MySqlStore};
use crate::wait::{WAIT_GRACE, Wait};

/// How often a lock's connection is pinged, and how long an answer may take. The driver does not tell of a connection that
/// has ended until it is used.
const PING_EVERY: Duration = Duration::from_millis(500);
const PING_ANSWER: Duration = Duration::from_secs(3);
/// After how much silence the server ends a lock's session: a frozen holder must not hold for ever.
const SILENCE: Duration = Duration::from_secs(30);
/// How long an idle link may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Named locks of a server. They are shared by all programs that use the same database and table prefix there.
pub struct MySqlLocks {
    driver: Arc<MySqlDriver>,
    /// A connection left over from a try that found the lock taken, and its number.
    spare: Mutex<Option<(Link, i64)>>,
}

impl MySqlStore {
    /// A provider of session locks. Behind a proxy that multiplexes, and where several servers take writes, they cannot
    /// work, and are refused.
    pub async fn session_locks(&self) -> Result<MySqlLocks, StoreError> {
        let driver = self.driver();
        driver.refuse_pooled("a session lock")?;
        // What was true at start need not be true now: the address may lead to a proxy since.
        let found = probe::sessions(driver.pool.connector(), driver.flavour, &driver.names).await?;
        if found == Found::Pooled {
            return Err(pooled(&driver.label, "a session lock"));
        }
        Ok(MySqlLocks { driver, spare: Mutex::default() })
    }
}

impl fmt::Debug for MySqlLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlLocks").field("store", &self.driver.label).finish_non_exhaustive()
    }
}

#[async_trait]
impl SessionLocks for MySqlLocks {
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
        let driver = &self.driver;
        let ((mut link, number), lock) = (self.link().await?, driver.names.lock(name));
        let mut wait = Wait::new(patience);
        while let Some(slice) = wait.next_slice() {
            let text = statements::get_lock(&lock, slice, driver.flavour);
            let had = link.row(slice + WAIT_GRACE, text).await;
            if driver.was_had(had)? {
                return Ok(Some(self.held(name, lock, link, number)));
            }
            if slice > Duration::ZERO {
                // A wait that was broken off at the last moment may have left the lock with us, and locks count.
                let done = link.texts_within(WAIT_GRACE, RELEASE_LOCKS.into()).await;
                done.map_err(|fault| fault.into_error(&driver.label))?;
            }
        }
        *self.spare() = Some((link, number));
        wait.rest().await;
        Ok(None)
    }
}

impl MySqlLocks {
    async fn link(&self) -> Result<(Link, i64), StoreError> {
        let spare = self.spare().take();
        if let Some((mut link, number)) = spare
            && link.ping(SIGN_OF_LIFE).await.is_ok()
        {
            return Ok((link, number));
        }
        let connector = self.driver.pool.connector();
        let (link, number) = connector.open_for_locks("lock", SILENCE, self.driver.flavour).await?;
        Ok((link.for_waiting(), number))
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Option<(Link, i64)>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the keeper over a lock that was just had.
    fn held(&self, name: &LeaseName, lock: String, link: Link, number: i64) -> Arc<dyn SessionLock> {
        let (held, _) = watch::channel(true);
        let held = Arc::new(held);
        let cutter = link.cutter();
        let link = Arc::new(tokio::sync::Mutex::new(link));
        let keeper = keep(Arc::clone(&link), number, Arc::clone(&held));
        let handle = self.driver.pool.connector().handle().clone();
        let keeper = handle.spawn(keeper).abort_handle();
        let label = self.driver.label.clone();
        Arc::new(MySqlLock { name: name.clone(), lock, label, link, cutter, held, keeper, handle })
    }
}

/// Pings until the lock is lost.
async fn keep(link: Arc<tokio::sync::Mutex<Link>>, number: i64, held: Arc<watch::Sender<bool>>) {
    // Whatever ends this, the lock counts as lost: also the end of the runtime.
    let _lost = LostOnDrop(held);
    loop {
        tokio::time::sleep(PING_EVERY).await;
        let mut link = link.lock().await;
        let answer = link.row(PING_ANSWER, SESSION_NUMBER.into()).await;
        if !matches!(answer.map(|row| row.number("id")), Ok(Ok(Some(answered))) if answered == number) {
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
struct MySqlLock {
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

impl fmt::Debug for MySqlLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlLock").field("name", &self.name).field("held", &self.is_held()).finish()
    }
}

/// The connection is cut, so that the server knows at once.
impl Drop for MySqlLock {
    fn drop(&mut self) {
        self.held.send_replace(false);
        self.keeper.abort();
        self.cutter.cut();
    }
}

#[async_trait]
impl SessionLock for MySqlLock {
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
        let (link, keeper) = (Arc::clone(&self.link), self.keeper.clone());
        let release = statements::release_lock(&self.lock);
        // To its end, whether or not the caller stays: nobody would give the lock back later.
        let released = self.handle.spawn(async move {
            // The keeper lets go of the link after its ping, if one is under way.
            let mut link = link.lock().await;
            keeper.abort();
            let released = link.row(PING_ANSWER, release).await;
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
