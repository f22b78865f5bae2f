//! The in-memory store as a backend under test, with a clock that the suite moves.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::{Backend, Need};
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, SessionLocks};
use tenure_core::lease::{Fence, FenceCheck, LeaseName};
use tenure_core::memory::{ManualClock, MemoryStore};

use crate::locks::MemoryLocks;
use crate::memory_outbox::Effects;

pub(crate) struct MemoryBackend {
    clock: Arc<ManualClock>,
    pub(crate) store: MemoryStore,
    locks: MemoryLocks,
    pub(crate) effects: Effects,
}

impl MemoryBackend {
    pub(crate) fn start() -> Self {
        let clock = Arc::new(ManualClock::default());
        let store = MemoryStore::new(Arc::<ManualClock>::clone(&clock));
        Self { clock, store, locks: MemoryLocks::default(), effects: Effects::default() }
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.store.clone())
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.store.clone()))
    }

    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        Some(Arc::new(self.store.clone()))
    }

    async fn locks(&self) -> Option<Arc<dyn SessionLocks>> {
        Some(Arc::new(self.locks.clone()))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        Some(self.store.check(fence))
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.store.delete_row(name);
        true
    }

    async fn regress_term(&self, name: &LeaseName) -> bool {
        self.store.regress_term(name)
    }

    async fn kill_sessions(&self) -> bool {
        self.store.end_sessions();
        self.locks.kill_all();
        true
    }

    fn promises(&self) -> &'static [Need] {
        use Need::{
            Admin, Audit, ConcurrentWriters, DeleteRow, Fence, Forgetting, KillSessions, Locks, Neighbour,
            Presence, Registry, RegressTerm, UserAppend, Wakeup,
        };
        &[
            Presence,
            Admin,
            Registry,
            Locks,
            Fence,
            DeleteRow,
            RegressTerm,
            KillSessions,
            ConcurrentWriters,
            Wakeup,
            UserAppend,
            Audit,
            Neighbour,
            Forgetting,
        ]
    }
}

tenure_conformance::lease_suite!(async { MemoryBackend::start() });
