//! The outbox of a memory store: its tables under the store's lock, with its clock and its leases.

use std::sync::Arc;

use async_trait::async_trait;

use super::inbox::OpenInbox;
use super::outbox::{AuditLine, PlainRow, Staged, Taken};
use super::store::{MemoryStore, State};
use crate::contract::{EnqueueError, OutboxAdmin, OutboxStore, Wakeup};
use crate::error::StoreError;
use crate::id::NodeName;
use crate::lease::{Fence, FenceCheck, decide};
use crate::outbox::{
    Accept, Consumer, Details, Enqueued, Filter, Limits, Loaded, Look, Message, MessageError, MessageId,
    NewMessage, Outcome, Page, Recorded, Retention, RowId, Selection, Stats, Summary, Swept,
};
use crate::time::StoreTime;

/// An open transaction on a memory store. Dropped without a commit, it leaves nothing.
#[derive(Debug)]
pub struct MemoryTransaction {
    store: MemoryStore,
    staged: Staged,
    inbox: OpenInbox,
}

impl MemoryTransaction {
    /// Enqueues messages: all, or none and the transaction is as before.
    pub fn enqueue(
        &mut self,
        messages: &[NewMessage],
        limits: &Limits,
    ) -> Result<Vec<Enqueued>, MessageError> {
        let (now, store) = (self.store.now(), self.store.clone());
        let mut state = store.state();
        let State { outbox, ids, .. } = &mut *state;
        outbox.stage(&mut self.staged, messages, limits, now, || ids.next_id())
    }

    /// Inserts a row as a foreign program would.
    pub fn insert_plain(&mut self, row: PlainRow) -> Result<RowId, Taken> {
        let (now, store) = (self.store.now(), self.store.clone());
        let mut state = store.state();
        let State { outbox, ids, .. } = &mut *state;
        outbox.stage_plain(&mut self.staged, row, ids.next_id(), now)
    }

    /// Accepts a message by its id.
    pub fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Accept {
        let now = self.store.now();
        self.inbox.on(&self.store.state().outbox.inbox).accept(consumer, id, now)
    }

    /// Accepts a message, and tells one with another content under the same id.
    pub fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Accept {
        let now = self.store.now();
        self.inbox.on(&self.store.state().outbox.inbox).accept_message(consumer, message, now)
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays. Answers what stands: [`Accept::Refused`], with an earlier
    /// refusal's reason where there is one, or [`Accept::Duplicate`] when the message took effect before.
    pub fn refuse(&mut self, consumer: &Consumer, id: MessageId, reason: &str) -> Accept {
        let now = self.store.now();
        self.inbox.on(&self.store.state().outbox.inbox).refuse(consumer, id, reason, now)
    }

    /// Makes everything visible at once; or nothing, when another transaction was there first with the same id.
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { store, staged, inbox } = self;
        {
            let mut state = store.state();
            inbox.check(&state.outbox.inbox).map_err(busy)?;
            state.outbox.commit(staged).map_err(|taken| busy(taken.to_string()))?;
            state.outbox.inbox.merge(inbox);
        }
        store.bells().ring();
        Ok(())
    }
}

fn busy(message: String) -> StoreError {
    StoreError::Busy { store: "memory".into(), message }
}

impl MemoryStore {
    /// Begins a transaction.
    pub fn begin(&self) -> MemoryTransaction {
        MemoryTransaction { store: self.clone(), staged: Staged::default(), inbox: OpenInbox::default() }
    }

    /// What operators did to the outbox, the first one first.
    pub fn outbox_audit(&self) -> Vec<AuditLine> {
        self.state().outbox.audit().to_vec()
    }

    /// How many attempts are kept.
    pub fn outbox_attempts(&self) -> u64 {
        self.state().outbox.attempts_kept()
    }

    fn in_office(state: &State, office: Option<&Fence>, now: StoreTime) -> bool {
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

    async fn list(&self, selection: &Selection) -> Result<Vec<Summary>, StoreError> {
        Ok(self.state().outbox.list(selection))
    }

    async fn show(&self, id: &str) -> Result<Option<Details>, StoreError> {
        Ok(self.state().outbox.show(id))
    }

    async fn count_dead(&self, filter: &Filter) -> Result<u64, StoreError> {
        Ok(self.state().outbox.count_dead(filter))
    }

    async fn retry(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let changed = self.state().outbox.retry(filter, by, limit, self.now());
        self.bells().ring();
        Ok(changed)
    }

    async fn discard(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let changed = self.state().outbox.discard(filter, by, limit, self.now());
        // A source that stood still goes on.
        self.bells().ring();
        Ok(changed)
    }
}
