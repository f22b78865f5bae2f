//! Presence that is wrong on purpose.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore, Presence, PresenceSession, Raise, Watch};
use tenure_core::id::Unique;
use tenure_core::lease::Flag;
use tenure_core::memory::MemoryStore;

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PresenceFlaw {
    /// Every flag counts as fallen.
    AlwaysFallen,
    /// A flag that was raised twice must be lowered twice.
    Stacks,
    /// A session that ends leaves its flags up.
    OutlivesItsSession,
}

#[derive(Debug)]
pub(crate) struct BrokenPresence {
    pub(crate) inner: MemoryStore,
    pub(crate) flaw: PresenceFlaw,
}

impl BrokenPresence {
    fn right(&self) -> &dyn Presence {
        self.inner.presence().expect("memory has presence")
    }
}

#[async_trait]
impl Presence for BrokenPresence {
    async fn open(&self, id: Unique, idle_timeout: Duration) -> Result<Arc<dyn PresenceSession>, StoreError> {
        let inner = self.right().open(id, idle_timeout).await?;
        if self.flaw == PresenceFlaw::OutlivesItsSession {
            // Someone else keeps it open.
            std::mem::forget(Arc::clone(&inner));
        }
        Ok(Arc::new(BrokenSession { inner, flaw: self.flaw, raised: Mutex::default() }))
    }

    async fn watch(&self, flag: &Flag, patience: Duration) -> Result<Watch, StoreError> {
        match self.flaw {
            PresenceFlaw::AlwaysFallen => Ok(Watch::Fallen),
            _ => self.right().watch(flag, patience).await,
        }
    }
}

#[derive(Debug)]
struct BrokenSession {
    inner: Arc<dyn PresenceSession>,
    flaw: PresenceFlaw,
    raised: Mutex<HashMap<Flag, u32>>,
}

impl BrokenSession {
    /// Counts a flag up or down, and says how often it is up now.
    fn count(&self, flag: &Flag, change: impl FnOnce(u32) -> u32) -> u32 {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let count = raised.entry(flag.clone()).or_default();
        *count = change(*count);
        *count
    }
}

#[async_trait]
impl PresenceSession for BrokenSession {
    fn id(&self) -> Unique {
        self.inner.id()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.inner.ping().await
    }

    async fn raise(&self, flag: &Flag) -> Result<Raise, StoreError> {
        self.count(flag, |count| count + 1);
        self.inner.raise(flag).await
    }

    async fn lower(&self, flag: &Flag) -> Result<(), StoreError> {
        let left = self.count(flag, |count| count.saturating_sub(1));
        if self.flaw == PresenceFlaw::Stacks && left > 0 {
            return Ok(());
        }
        self.inner.lower(flag).await
    }

    async fn close(&self) {
        if self.flaw != PresenceFlaw::OutlivesItsSession {
            self.inner.close().await;
        }
    }
}
