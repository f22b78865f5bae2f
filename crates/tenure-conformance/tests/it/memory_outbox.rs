//! The outbox of the in-memory store as a backend under test.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tenure_conformance::OutboxBackend;
use tenure_conformance::outbox::{AuditLine, PlainRow, UserTransaction};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxAdmin, OutboxStore};
use tenure_core::memory::MemoryTransaction;
use tenure_core::outbox::{Accept, Consumer, Enqueued, Limits, Message, MessageId, NewMessage};

use crate::memory::MemoryBackend;

/// What receivers wrote, in the order of their commits.
pub(crate) type Effects = Arc<Mutex<Vec<String>>>;

#[async_trait]
impl OutboxBackend for MemoryBackend {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.store.clone())
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(self.store.clone())
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let (transaction, effects) = (self.store.begin(), Arc::clone(&self.effects));
        Box::new(MemoryUser { transaction, own: Vec::new(), effects })
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        let mut transaction = self.store.begin();
        transaction.insert_plain(row).map_err(|error| error.to_string())?;
        transaction.commit().map_err(|error| error.to_string())
    }

    async fn effects(&self) -> Vec<String> {
        self.effects.lock().expect("no effect panics").clone()
    }

    async fn audit(&self) -> Vec<AuditLine> {
        self.store.outbox_audit()
    }

    async fn attempt_rows(&self) -> u64 {
        self.store.outbox_attempts()
    }
}

struct MemoryUser {
    transaction: MemoryTransaction,
    own: Vec<String>,
    effects: Effects,
}

#[async_trait]
impl UserTransaction for MemoryUser {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        Ok(self.transaction.enqueue(messages, &Limits::default())?)
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        Ok(self.transaction.accept(consumer, id))
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        Ok(self.transaction.accept_message(consumer, message))
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        Ok(self.transaction.refuse(consumer, id, reason))
    }

    async fn apply(&mut self, effect: &str) {
        self.own.push(effect.to_owned());
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.commit()?;
        self.effects.lock().expect("no effect panics").extend(self.own);
        Ok(())
    }

    async fn rollback(self: Box<Self>) {}
}

tenure_conformance::outbox_suite!(async { MemoryBackend::start() });
