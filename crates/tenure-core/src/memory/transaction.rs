//! A transaction on a memory store: what it has staged, and how that becomes visible.

use super::events::StagedEvents;
use super::inbox::OpenInbox;
use super::outbox::{PlainRow, Staged, Taken};
use super::store::{BACKEND, MemoryStore, State};
use crate::contract::AppendError;
use crate::error::StoreError;
use crate::event::{self, Append, AppendAnswer, Appended, Version};
use crate::mutation::{Rule, off};
use crate::observe::METER;
use crate::outbox::{
    Accept, Consumer, Enqueued, Limits, Message, MessageError, MessageId, NewMessage, RowId,
};
use crate::time::StoreTime;

/// An open transaction on a memory store. Dropped without a commit, it leaves nothing.
///
/// One that has appended holds up everyone who reads by position until it ends, as in a database. It never waits: of two
/// that append to one stream at once, the later one gets [`StoreError::Busy`] when it commits.
#[derive(Debug)]
pub struct MemoryTransaction {
    store: MemoryStore,
    open: Open,
    held: Option<Held>,
}

/// What was staged.
#[derive(Debug, Clone, Default)]
pub(super) struct Open {
    outbox: Staged,
    inbox: OpenInbox,
    events: StagedEvents,
}

/// Lets readers pass when the transaction ends, however it ends.
#[derive(Debug)]
struct Held {
    store: MemoryStore,
    open: Option<u64>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let held_up = self.store.state().events.end(self.open);
        if held_up {
            self.store.event_bells().ring();
        }
    }
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
        let staged = outbox.stage(&mut self.open.outbox, messages, limits, now, || ids.next_id())?;
        METER.outbox_enqueued.add(0, staged.len() as u64);
        Ok(staged)
    }

    /// Inserts a row as a foreign program would.
    pub fn insert_plain(&mut self, row: PlainRow) -> Result<RowId, Taken> {
        let (now, store) = (self.store.now(), self.store.clone());
        let mut state = store.state();
        let State { outbox, ids, .. } = &mut *state;
        outbox.stage_plain(&mut self.open.outbox, row, ids.next_id(), now)
    }

    /// Accepts a message by its id.
    pub fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Accept {
        let now = self.store.now();
        self.open.inbox.on(&self.store.state().outbox.inbox).accept(consumer, id, now)
    }

    /// Accepts a message, and tells one with another content under the same id.
    pub fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Accept {
        let now = self.store.now();
        self.open.inbox.on(&self.store.state().outbox.inbox).accept_message(consumer, message, now)
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays. Answers what stands: [`Accept::Refused`], with an earlier
    /// refusal's reason where there is one, or [`Accept::Duplicate`] when the message took effect before.
    pub fn refuse(&mut self, consumer: &Consumer, id: MessageId, reason: &str) -> Accept {
        let now = self.store.now();
        self.open.inbox.on(&self.store.state().outbox.inbox).refuse(consumer, id, reason, now)
    }

    /// Appends: events, dispatches and mark, or nothing and the transaction is as before. The events take their positions
    /// now, and appear when it commits.
    pub fn append(&mut self, append: &Append, limits: &event::Limits) -> Result<AppendAnswer, AppendError> {
        let (now, store) = (self.store.now(), self.store.clone());
        let answer = store.state().append(&mut self.open, append, limits, now);
        if self.held.is_none() && !self.open.events.is_empty() {
            self.held = Some(Held { open: self.open.events.token(), store });
        }
        answer
    }

    /// Makes everything visible at once; or nothing, when another transaction was there first with the same id.
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { store, open, held: _held } = self;
        let appended = store.state().commit(open)?;
        store.ring(appended);
        Ok(())
    }
}

impl MemoryStore {
    /// Begins a transaction.
    pub fn begin(&self) -> MemoryTransaction {
        MemoryTransaction { store: self.clone(), open: Open::default(), held: None }
    }

    /// Wakes relays, and readers of events if something was appended.
    pub(super) fn ring(&self, appended: bool) {
        self.bells().ring();
        if appended {
            self.event_bells().ring();
        }
    }
}

impl State {
    /// One append within a transaction: all of it, or nothing and what was staged is as before.
    pub(super) fn append(
        &mut self,
        open: &mut Open,
        append: &Append,
        limits: &event::Limits,
        now: StoreTime,
    ) -> Result<AppendAnswer, AppendError> {
        append.check(limits, true)?;
        // The mark first: a message that is settled changes nothing, whatever else the append says.
        let mut inbox = open.inbox.clone();
        if let Some(mark) = &append.mark
            && let Some(answer) = AppendAnswer::to_settled(inbox.on(&self.outbox.inbox).mark(mark, now))
        {
            return Ok(answer);
        }
        let follows = match self.events.judge(&open.events, append)? {
            Ok(follows) => follows,
            Err(answer) => return Ok(answer),
        };
        let refused = append.mark.as_ref().is_some_and(|mark| mark.refused.is_some());
        if refused {
            open.inbox = inbox;
            return Ok(AppendAnswer::Appended(only_marked(follows)));
        }
        let Self { outbox, ids, .. } = self;
        let payloads = Limits { payload: limits.payload };
        let sent = outbox.stage(&mut open.outbox, &append.dispatches, &payloads, now, || ids.next_id());
        if sent.is_err() && off(Rule::AppendWhole) {
            let mut besides = StagedEvents::default();
            self.events.stage(&mut besides, append, follows, now);
            let _ = self.events.commit(besides);
        }
        sent?;
        open.inbox = inbox;
        Ok(AppendAnswer::Appended(self.events.stage(&mut open.events, append, follows, now)))
    }

    /// Makes everything that was staged visible, or nothing. Answers whether there were events.
    pub(super) fn commit(&mut self, open: Open) -> Result<bool, StoreError> {
        let token = open.events.token();
        let written = self.write(open);
        // Whatever came of it: nobody waits for these positions any longer.
        self.events.end(token);
        written.map_err(|message| StoreError::Busy { store: BACKEND.into(), message })
    }

    fn write(&mut self, open: Open) -> Result<bool, String> {
        let Open { outbox, inbox, events } = open;
        let appended = !events.is_empty();
        inbox.check(&self.outbox.inbox)?;
        self.events.check(&events).map_err(|overtaken| overtaken.to_string())?;
        self.outbox.commit(outbox).map_err(|taken| taken.to_string())?;
        self.events.commit(events).map_err(|overtaken| overtaken.to_string())?;
        self.outbox.inbox.merge(inbox);
        Ok(appended)
    }
}

fn only_marked(version: Version) -> Appended {
    Appended { version, position: None, repeated: false }
}
