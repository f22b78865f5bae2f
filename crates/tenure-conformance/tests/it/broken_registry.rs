//! A registry that is wrong on purpose.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::LeaseRegistry;
use tenure_core::lease::Term;
use tenure_core::memory::MemoryStore;
use tenure_core::registry::{Entry, Recorded, Touched};

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegistryFlaw {
    /// A holder that lives is not written down as living, and swept.
    TouchForgotten,
    /// A release is answered, and not written.
    ReleaseForgotten,
    /// What was forgotten stays for ever.
    NeverSweeps,
}

#[derive(Debug)]
pub(crate) struct BrokenRegistry {
    pub(crate) inner: MemoryStore,
    pub(crate) flaw: RegistryFlaw,
}

#[async_trait]
impl LeaseRegistry for BrokenRegistry {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.inner.prepare().await
    }

    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError> {
        self.inner.record(entry, stale_after).await
    }

    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError> {
        match self.flaw {
            RegistryFlaw::TouchForgotten => Ok(Touched::Living),
            _ => self.inner.touch(entry, term, stale_after).await,
        }
    }

    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError> {
        match self.flaw {
            RegistryFlaw::ReleaseForgotten => Ok(true),
            _ => self.inner.stamp_released(entry, term).await,
        }
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        match self.flaw {
            RegistryFlaw::NeverSweeps => Ok(0),
            _ => self.inner.sweep().await,
        }
    }
}
