//! Named locks over leases: for stores without session locks of their own, such as SQLite.
//!
//! The lock is a lease row, so it really excludes a second process on the same file; and unlike a session lock it comes
//! with a fence.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::{Fence, LeaseName, LeaseSettings};

use crate::error::LeaseError;
use crate::lease::{Acquired, Lease, Leases};
use crate::stop::Stop;

/// A provider of named locks over the leases of one node.
#[derive(Debug, Clone)]
pub struct LeaseLocks {
    leases: Leases,
    settings: LeaseSettings,
}

impl LeaseLocks {
    /// Locks that are kept and lost as `settings` say.
    pub fn new(leases: Leases, settings: LeaseSettings) -> Self {
        Self { leases, settings }
    }

    async fn try_lease(&self, name: &LeaseName) -> Result<Option<LeaseLock>, LeaseError> {
        let lease = self.leases.lease(name.as_str(), self.settings.clone())?;
        match lease.acquire().await? {
            Acquired::Granted(_) => Ok(Some(LeaseLock { lease })),
            Acquired::Held(_) => Ok(None),
        }
    }
}

#[async_trait]
impl SessionLocks for LeaseLocks {
    fn backend(&self) -> &'static str {
        "lease"
    }

    async fn try_lock(&self, name: &LeaseName) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let lock = self.try_lease(name).await.map_err(store_error)?;
        Ok(lock.map(|lock| Arc::new(lock) as Arc<dyn SessionLock>))
    }

    async fn lock(
        &self,
        name: &LeaseName,
        patience: Duration,
    ) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let lease = self.leases.lease(name.as_str(), self.settings.clone()).map_err(store_error)?;
        let give_up = Stop::new();
        let timer = {
            let give_up = give_up.clone();
            tokio::spawn(async move {
                tokio::time::sleep(patience).await;
                give_up.stop();
            })
        };
        let granted = lease.acquire_when_free(&give_up).await;
        timer.abort();
        Ok(granted.map_err(store_error)?.map(|_| Arc::new(LeaseLock { lease }) as Arc<dyn SessionLock>))
    }
}

fn store_error(error: LeaseError) -> StoreError {
    match error {
        LeaseError::Store(error) => error,
        other => StoreError::Failed { store: "lease".into(), message: other.to_string(), source: None },
    }
}

/// A lock that is a lease.
#[derive(Debug)]
struct LeaseLock {
    lease: Lease,
}

#[async_trait]
impl SessionLock for LeaseLock {
    fn name(&self) -> &LeaseName {
        self.lease.name()
    }

    fn is_held(&self) -> bool {
        self.lease.check_alive()
    }

    fn fence(&self) -> Option<Fence> {
        self.lease.fence()
    }

    async fn lost(&self) {
        self.lease.lost().stopped().await;
    }

    async fn unlock(&self) -> Result<(), StoreError> {
        self.lease.release().await.map(drop).map_err(store_error)
    }
}
