//! The store of the world of events: positions are taken early, and commits come late.
//!
//! ```text
//!   append:  read K ─▶ show K ─▶ mark, stream (waits for whoever holds them) ─▶ judge ─▶ positions ─▶ commit ─▶ hide K
//!   reader:  (1) top ─▶ (2) the lowest K that is shown ─▶ (3) rows;   a page ends before min(top, K)
//! ```
//!
//! It is the protocol of the database that makes it hardest: transactions are open at the same time, each step of each of
//! them falls at a moment of its own, and any of them may end without a commit. Decisions are the core's.

mod append;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::event::{Position, Recorded, Snapshot, StreamName, Version};
use tenure_core::memory::{CheckpointTables, InboxTable};
use tenure_core::outbox::{MessageId, NewMessage};
use tenure_core::time::StoreTime;
use uuid::Uuid;

pub(crate) use append::{Progress, Stage, Transaction};
pub(crate) use read::Reading;

use crate::oracle::{EventFact, Fact};

/// Who waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) actor: usize,
    /// In which of its lives it asked.
    pub(crate) life: u64,
    pub(crate) call: u64,
    /// How long the answer will take; `None`: it is lost.
    pub(crate) answer_after: Option<Duration>,
}

/// The tables, and what is under way in them.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// The last position that was taken, also by an event that was never committed.
    last_position: i64,
    rows: BTreeMap<Position, Arc<Recorded>>,
    streams: BTreeMap<StreamName, Vec<Position>>,
    ids_at_any: BTreeSet<Uuid>,
    inbox: InboxTable,
    sent: BTreeMap<MessageId, NewMessage>,
    /// What was sent and not yet taken to be delivered.
    pub(crate) post: Vec<NewMessage>,
    pub(crate) snapshots: BTreeMap<StreamName, Snapshot>,
    pub(crate) checkpoints: CheckpointTables,
    pub(crate) open: BTreeMap<u64, Transaction>,
    pub(crate) readings: BTreeMap<u64, Reading>,
    serial: u64,
    pub(crate) facts: Vec<Fact>,
    /// Whether some rows are damaged where readers of all events look.
    damaged: bool,
}

impl Books {
    /// Empty books, in which some rows will be damaged or none.
    pub(crate) fn new(damaged: bool) -> Self {
        Self { damaged, ..Self::default() }
    }

    /// The last position that was given out.
    pub(crate) fn head(&self) -> Position {
        Position(self.last_position)
    }

    /// How many events of a stream can be seen.
    pub(crate) fn version_of(&self, stream: &StreamName) -> Version {
        Version::NONE.plus(self.streams.get(stream).map_or(0, Vec::len))
    }

    /// The events of a stream that can be seen.
    pub(crate) fn stream(&self, stream: &StreamName) -> Vec<Recorded> {
        let positions = self.streams.get(stream).into_iter().flatten();
        positions.filter_map(|position| self.rows.get(position)).map(|row| Recorded::clone(row)).collect()
    }

    /// Whether a dispatch was sent.
    pub(crate) fn has_sent(&self, id: &MessageId) -> bool {
        self.sent.contains_key(id)
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn tell(&mut self, fact: EventFact) {
        self.facts.push(Fact::Event(fact));
    }

    /// Makes an event visible.
    fn insert_event(&mut self, transaction: u64, event: Recorded, at_any: bool) {
        if at_any {
            self.ids_at_any.insert(event.id);
        }
        let event = Arc::new(event);
        self.streams.entry(event.stream.clone()).or_default().push(event.position);
        self.rows.insert(event.position, event.clone());
        self.tell(EventFact::Visible { transaction, event });
    }

    /// Makes a dispatch visible, unless it is there.
    fn insert_dispatch(&mut self, transaction: u64, message: &NewMessage, now: StoreTime) {
        // One without an id gets one by chance; here nobody sends such.
        let chance = Uuid::from_u128(now.as_micros().unsigned_abs().into());
        let id = message.id.unwrap_or_else(|| chance.into());
        if self.sent.insert(id, message.clone()).is_none() {
            self.post.push(message.clone());
            self.tell(EventFact::Sent { transaction, id });
        }
    }

    /// Keeps a snapshot, unless there is one of a later version.
    pub(crate) fn keep(&mut self, snapshot: &Snapshot) {
        match self.snapshots.get(&snapshot.stream) {
            Some(kept) if kept.version > snapshot.version => {}
            _ => {
                self.snapshots.insert(snapshot.stream.clone(), snapshot.clone());
            }
        }
    }
}
