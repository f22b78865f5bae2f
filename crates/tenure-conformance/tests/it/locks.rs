//! Session locks in a map: the plainest reading of the contract, so that the cases about locks are themselves tried.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::LeaseName;
use tokio::sync::watch;
use tokio::time::Instant;

/// All locks that are held, each with the means to tell its holder of its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryLocks(Arc<Mutex<HashMap<LeaseName, watch::Sender<bool>>>>);

impl MemoryLocks {
    /// Ends every lock behind its holder's back.
    pub(crate) fn kill_all(&self) {
        for (_, held) in self.held().drain() {
            held.send_replace(false);
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<LeaseName, watch::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionLocks for MemoryLocks {
    fn backend(&self) -> &'static str {
        "memory"
    }

    async fn try_lock(&self, name: &LeaseName) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let mut held = self.held();
        if held.contains_key(name) {
            return Ok(None);
        }
        let holding = watch::Sender::new(true);
        held.insert(name.clone(), holding.clone());
        Ok(Some(Arc::new(Lock { name: name.clone(), holding, locks: self.clone() })))
    }

    async fn lock(
        &self,
        name: &LeaseName,
        patience: Duration,
    ) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        let began = Instant::now();
        loop {
            if let Some(lock) = self.try_lock(name).await? {
                return Ok(Some(lock));
            }
            if began.elapsed() >= patience {
                return Ok(None);
            }
            // passes time: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[derive(Debug)]
struct Lock {
    name: LeaseName,
    holding: watch::Sender<bool>,
    locks: MemoryLocks,
}

impl Lock {
    /// Gives back exactly this holding: the name may be another's by now.
    fn give_back(&self) {
        let mut held = self.locks.held();
        if held.get(&self.name).is_some_and(|holding| holding.same_channel(&self.holding)) {
            held.remove(&self.name);
        }
        self.holding.send_replace(false);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[async_trait]
impl SessionLock for Lock {
    fn name(&self) -> &LeaseName {
        &self.name
    }

    fn is_held(&self) -> bool {
        *self.holding.borrow()
    }

    async fn lost(&self) {
        // The sender is ours, so that the wait cannot fail.
        let _ = self.holding.subscribe().wait_for(|held| !held).await;
    }

    async fn unlock(&self) -> Result<(), StoreError> {
        self.give_back();
        Ok(())
    }
}
