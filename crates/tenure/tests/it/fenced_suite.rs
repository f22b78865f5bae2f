//! Leases of another place, held to the conformance suite of leases: whoever uses them cannot tell the difference.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure::FencedLeases;
use tenure::core::contract::LeaseStore;
use tenure::core::lease::{Fence, FenceCheck, LeaseName};
use tenure::core::memory::{ManualClock, MemoryStore};
use tenure_conformance::{Backend, Need};

/// One store grants, the other one is protected.
pub(crate) struct Fenced {
    clock: Arc<ManualClock>,
    foreign: MemoryStore,
    protected: MemoryStore,
}

impl Fenced {
    fn start() -> Self {
        let clock = Arc::new(ManualClock::default());
        let memory = || MemoryStore::new(Arc::<ManualClock>::clone(&clock));
        Self { foreign: memory(), protected: memory(), clock }
    }
}

#[async_trait]
impl Backend for Fenced {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(FencedLeases::new(Arc::new(self.foreign.clone()), Arc::new(self.protected.clone())))
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        Some(self.protected.check(fence))
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.foreign.delete_row(name);
        true
    }

    fn promises(&self) -> &'static [Need] {
        &[Need::Fence, Need::DeleteRow]
    }
}

tenure_conformance::lease_suite!(async { Fenced::start() });
