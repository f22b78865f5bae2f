//! The events of the in-memory store as a backend under test.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::EventBackend;
use tenure_conformance::events::UserAppend;
use tenure_conformance::outbox::AuditLine;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore, LeaseStore as _, OperatorStores};
use tenure_core::event::{Append, AppendAnswer, Limits, Position};
use tenure_core::memory::MemoryTransaction;

use crate::memory::MemoryBackend;

#[async_trait]
impl EventBackend for MemoryBackend {
    async fn events(&self) -> Arc<dyn EventStore> {
        Arc::new(self.store.clone())
    }

    async fn operators(&self) -> OperatorStores {
        OperatorStores::of(Arc::new(self.store.clone()), self.store.capabilities())
    }

    async fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
        Arc::new(self.store.clone())
    }

    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        Some(Box::new(MemoryUser(self.store.begin())))
    }

    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        Some(self.store.subscription_audit())
    }

    async fn damage(&self, position: Position) -> bool {
        self.store.damage_event(position, "someone has damaged it")
    }
}

struct MemoryUser(MemoryTransaction);

#[async_trait]
impl UserAppend for MemoryUser {
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.0.append(append, &Limits::default())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.0.commit()
    }

    async fn rollback(self: Box<Self>) {}
}

tenure_conformance::event_suite!(async { MemoryBackend::start() });
