//! The outbox of a memory store: its tables under the store's lock, with its clock and its leases.

use std::sync::Arc;

use async_trait::async_trait;

use super::outbox::AuditLine;
use super::store::{MemoryStore, State};
use crate::contract::{EnqueueError, OutboxAdmin, OutboxStore, Wakeup};
use crate::error::StoreError;
use crate::id::NodeName;
use crate::lease::{Fence, FenceCheck, decide};
use crate::outbox::{
    Acted, CauseId, Counted, DeadWalk, Details, Enqueued, Graves, Limits, Listing, Loaded, Look, NewMessage,
    Outcome, Page, Pulse, Recorded, Retention, RowId, Selection, Stats, Swept,
};
use crate::time::StoreTime;

impl MemoryStore {
    /// What operators did to the outbox, the first one first.
    pub fn outbox_audit(&self) -> Vec<AuditLine> {
        self.state().outbox.audit().to_vec()
    }

    /// How many attempts are kept.
    pub fn outbox_attempts(&self) -> u64 {
        self.state().outbox.attempts_kept()
    }

    pub(super) fn in_office(state: &State, office: Option<&Fence>, now: StoreTime) -> bool {
        office.is_none_or(|fence| {
            decide::check(state.leases.get(&fence.lease), fence, now) == FenceCheck::Holds
        })
    }
}

#[async_trait]
impl OutboxStore for MemoryStore {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        let mut transaction = self.begin();
        let enqueued = transaction.enqueue(messages, limits)?;
        transaction.commit()?;
        Ok(enqueued)
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        Ok(self.state().outbox.look(look, self.now()))
    }

    fn lists_arrivals(&self) -> bool {
        true
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        Ok(self.state().outbox.load(id, limits))
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        let mut state = self.state();
        let now = self.now();
        let holds = Self::in_office(&state, office, now);
        let term = office.map(|fence| fence.term.get());
        Ok(state.outbox.record(holds, term, node, outcomes, now))
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        let mut state = self.state();
        let now = self.now();
        let holds = Self::in_office(&state, office, now);
        Ok(state.outbox.sweep(holds, retention, resume, now))
    }

    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(self.bells().listen()))
    }
}

#[async_trait]
impl OutboxAdmin for MemoryStore {
    async fn stats(&self) -> Result<Stats, StoreError> {
        Ok(self.state().outbox.stats(self.now()))
    }

    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        Ok(self.state().outbox.pulse(at_most, self.now()))
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        Ok(self.state().outbox.list(selection))
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        Ok(self.state().outbox.show(id, payload_max))
    }

    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        Ok(self.state().outbox.count_dead(walk))
    }

    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError> {
        Ok(self.state().outbox.graves(after, limit, count_max))
    }

    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        let changed = {
            let mut state = self.state();
            let changed = state.outbox.retry(walk, by, self.now());
            state.gather_audit(self.now());
            changed
        };
        self.bells().ring();
        Ok(changed)
    }

    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        let changed = {
            let mut state = self.state();
            let changed = state.outbox.discard(walk, by, self.now());
            state.gather_audit(self.now());
            changed
        };
        // A source that stood still goes on.
        self.bells().ring();
        Ok(changed)
    }
}
