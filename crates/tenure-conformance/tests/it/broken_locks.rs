//! Session locks that are wrong on purpose.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::LeaseName;

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockFlaw {
    /// The provider that has a lock gets it again.
    Stacks,
    /// A lock that is dropped stays locked.
    DropLeaks,
    /// Names are told apart without regard to case.
    CaseFolded,
    /// One who waits is told at once that someone has the lock.
    Impatient,
    /// The holder never hears of the end of its lock.
    LossUntold,
}

type Taken = Option<Arc<dyn SessionLock>>;

#[derive(Debug)]
pub(crate) struct BrokenLocks {
    inner: Arc<dyn SessionLocks>,
    flaw: LockFlaw,
    /// Every lock this provider ever gave.
    given: Mutex<Vec<Arc<dyn SessionLock>>>,
}

impl BrokenLocks {
    pub(crate) fn new(inner: Arc<dyn SessionLocks>, flaw: LockFlaw) -> Self {
        Self { inner, flaw, given: Mutex::default() }
    }

    fn read(&self, name: &LeaseName) -> LeaseName {
        match self.flaw {
            LockFlaw::CaseFolded => LeaseName::new(name.as_str().to_lowercase()).expect("still a name"),
            _ => name.clone(),
        }
    }

    fn breaks(&self, name: &LeaseName, taken: Taken) -> Taken {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.flaw, taken) {
            (LockFlaw::Stacks, None) => given.iter().find(|lock| lock.name() == name).cloned(),
            (LockFlaw::Stacks | LockFlaw::DropLeaks, Some(lock)) => {
                given.push(Arc::clone(&lock));
                Some(lock)
            }
            (LockFlaw::LossUntold, Some(lock)) => Some(Arc::new(Untold(lock))),
            (_, taken) => taken,
        }
    }
}

#[async_trait]
impl SessionLocks for BrokenLocks {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    async fn try_lock(&self, name: &LeaseName) -> Result<Taken, StoreError> {
        let taken = self.inner.try_lock(&self.read(name)).await?;
        Ok(self.breaks(name, taken))
    }

    async fn lock(&self, name: &LeaseName, patience: Duration) -> Result<Taken, StoreError> {
        let patience = if self.flaw == LockFlaw::Impatient { Duration::ZERO } else { patience };
        let taken = self.inner.lock(&self.read(name), patience).await?;
        Ok(self.breaks(name, taken))
    }
}

/// A lock whose holder is never told of its end.
#[derive(Debug)]
struct Untold(Arc<dyn SessionLock>);

#[async_trait]
impl SessionLock for Untold {
    fn name(&self) -> &LeaseName {
        self.0.name()
    }

    fn is_held(&self) -> bool {
        true
    }

    async fn lost(&self) {
        std::future::pending().await
    }

    async fn unlock(&self) -> Result<(), StoreError> {
        self.0.unlock().await
    }
}
