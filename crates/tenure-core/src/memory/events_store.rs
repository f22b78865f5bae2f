//! The events and checkpoints of a memory store: their tables under the store's lock, with its clock and its leases.

use std::sync::Arc;

use async_trait::async_trait;

use super::outbox::AuditLine;
use super::store::{BACKEND, MemoryStore};
use super::transaction::Open;
use crate::contract::{AppendError, CheckpointStore, EventStore, Wakeup};
use crate::error::StoreError;
use crate::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};
use crate::lease::Fence;
use crate::subscription::{Advance, Checkpoint, Parked, Progress, Rewind, Step, SubscriptionName};

impl MemoryStore {
    /// Makes an event's row unreadable, as someone could do to a real table by hand: for tests of what readers do then.
    /// Whether there is such a row.
    pub fn damage_event(&self, position: Position, reason: &str) -> bool {
        self.state().events.damage(position, reason)
    }

    /// What operators did to subscriptions, the first one first.
    pub fn subscription_audit(&self) -> Vec<AuditLine> {
        self.state().checkpoints.audit().to_vec()
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        // Staged and committed under one lock: nobody comes between, and nobody is held up.
        let (answer, appended) = {
            let (mut state, mut open) = (self.state(), Open::default());
            let answer = state.append(&mut open, append, limits, self.now())?;
            (answer, state.commit(open)?)
        };
        if matches!(answer, AppendAnswer::Appended(_)) {
            self.ring(appended);
        }
        Ok(answer)
    }

    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        let page = self.state().events.read_stream(read);
        page.map_err(|row| StoreError::Corrupt { store: BACKEND.into(), message: row.to_string() })
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        Ok(self.state().events.read_all(after, limit))
    }

    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.state().events.snapshot_of(stream).cloned())
    }

    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.state().events.keep(snapshot);
        Ok(())
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(self.event_bells().listen()))
    }
}

#[async_trait]
impl CheckpointStore for MemoryStore {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        Ok(self.state().checkpoints.checkpoint(name))
    }

    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        let mut state = self.state();
        let now = self.now();
        let holds = Self::in_office(&state, office, now);
        state.checkpoints.advance(holds, step, now).map_err(|backward| StoreError::Failed {
            store: BACKEND.into(),
            message: backward.to_string(),
            source: None,
        })
    }

    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        Ok(self.state().checkpoints.subscriptions(after, limit))
    }

    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        Ok(self.state().checkpoints.parked(name, after, limit))
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        let now = self.now();
        let mut state = self.state();
        let end = state.events.head();
        let rewound = state.checkpoints.rewind(name, to, end, by, now);
        state.gather_audit(now);
        Ok(rewound)
    }
}
