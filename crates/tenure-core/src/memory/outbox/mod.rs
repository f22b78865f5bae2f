//! The outbox as plain tables: the plainest reading of the contract, and what the simulator drives.
//!
//! ```text
//!   rows      the messages; a row never changes
//!   queue     one entry for each message that is not finished
//!   attempts  every attempt, for ever
//!   dead      what was given up, and what an operator discarded
//! ```
//!
//! No clock and no chance of its own: time and fresh ids are arguments. Everything goes in order of its keys, so the same
//! calls give the same answers.

mod admin;
mod insert;
mod look;
mod pulse;
mod queue;
mod record;
mod search;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::queue::Queue;
use super::inbox::InboxTable;
use crate::outbox::{
    Attempt, Body, CauseId, Found, INLINE_MAX_BYTES, Limits, Loaded, MessageId, RowId, Sequence, State,
    Summary,
};
use crate::time::StoreTime;

pub use admin::AuditLine;
pub use insert::{PlainRow, Staged, Taken};
pub(super) use sweep::is_over;

/// The tables of an outbox and of an inbox, in memory.
#[derive(Debug, Clone, Default)]
pub struct OutboxTables {
    /// The set of messages that took effect, which retention sweeps together with the outbox.
    pub inbox: InboxTable,
    /// The number that was given last, also to a row that was never committed.
    last_id: i64,
    rows: BTreeMap<RowId, Row>,
    /// By message id without regard to case.
    by_message_id: BTreeMap<String, RowId>,
    queue: Queue,
    attempts: BTreeMap<(RowId, u32), Attempt>,
    dead: BTreeMap<RowId, Dead>,
    audit: Vec<AuditLine>,
}

/// A message as it was inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    id: RowId,
    message_id: String,
    source: Option<String>,
    sequence: Sequence,
    topic: String,
    kind: String,
    payload: Option<String>,
    payload_bytes: Option<Vec<u8>>,
    content_type: Option<String>,
    headers: Option<String>,
    deliver_at: Option<StoreTime>,
    created_at: StoreTime,
}

/// A message that was given up.
#[derive(Debug, Clone)]
struct Dead {
    died_at: StoreTime,
    reason: Option<String>,
    attempts: u32,
    halts: bool,
    cause: CauseId,
    discarded_at: Option<StoreTime>,
}

impl OutboxTables {
    /// Tables without a row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where a message stands; `None` when there is no such row.
    pub fn state_of(&self, id: RowId) -> Option<State> {
        self.rows.get(&id).map(|row| self.state(row))
    }

    /// Every row that is committed, by its number.
    pub fn row_ids(&self) -> impl Iterator<Item = RowId> + '_ {
        self.rows.keys().copied()
    }

    /// The row with this message id.
    pub fn row_of(&self, id: &MessageId) -> Option<RowId> {
        self.row_named(&id.to_string())
    }

    /// The row with this message id, whatever text that is.
    pub fn row_named(&self, id: &str) -> Option<RowId> {
        self.by_message_id.get(&id.to_ascii_lowercase()).copied()
    }

    /// What a list shows of a row.
    pub fn summary_of(&self, id: RowId) -> Option<Summary> {
        self.rows.get(&id).map(|row| self.summary(row))
    }

    /// Every attempt at a message, the first one first.
    pub fn attempts_of(&self, id: RowId) -> Vec<Attempt> {
        self.attempts.range((id, 0)..=(id, u32::MAX)).map(|(_, attempt)| attempt.clone()).collect()
    }

    /// How many attempts are kept, of all messages.
    pub fn attempts_kept(&self) -> u64 {
        self.attempts.len() as u64
    }

    /// The payload of a row, unless it is above the limit.
    pub fn load(&self, id: RowId, limits: &Limits) -> Loaded {
        let Some(row) = self.rows.get(&id) else { return Loaded::Gone };
        match (&row.payload, &row.payload_bytes) {
            (Some(_), Some(_)) => Loaded::Unclear(Found::BOTH),
            _ if row.payload_len() > limits.payload => Loaded::TooLarge { bytes: row.payload_len() },
            (Some(text), None) => Loaded::Body(Body::Text(text.clone())),
            (None, Some(bytes)) => Loaded::Body(Body::Bytes(bytes.clone())),
            (None, None) => Loaded::Unclear(Found::NEITHER),
        }
    }

    fn state(&self, row: &Row) -> State {
        match self.dead.get(&row.id) {
            Some(dead) if dead.discarded_at.is_some() => State::Discarded,
            Some(_) => State::Dead,
            None if self.queue.get(row.id).is_some() => State::Pending,
            None => State::Dispatched,
        }
    }

    /// When a message was dispatched, given up or discarded.
    fn finished_at(&self, row: &Row) -> Option<StoreTime> {
        match self.dead.get(&row.id) {
            Some(dead) => Some(dead.discarded_at.unwrap_or(dead.died_at)),
            None if self.queue.get(row.id).is_some() => None,
            None => self.last_attempt(row.id).map(|attempt| attempt.at),
        }
    }

    fn last_attempt(&self, id: RowId) -> Option<&Attempt> {
        self.attempts.range((id, 0)..=(id, u32::MAX)).next_back().map(|(_, attempt)| attempt)
    }
}

impl Row {
    fn payload_len(&self) -> usize {
        self.payload.as_ref().map_or(0, String::len) + self.payload_bytes.as_ref().map_or(0, Vec::len)
    }

    fn found(&self) -> Found {
        match (&self.payload, &self.payload_bytes) {
            (Some(_), Some(_)) => Found::Unclear(Found::BOTH),
            _ if self.payload_len() > INLINE_MAX_BYTES => Found::Large,
            (Some(text), None) => Found::Body(Body::Text(text.clone())),
            (None, Some(bytes)) => Found::Body(Body::Bytes(bytes.clone())),
            (None, None) => Found::Unclear(Found::NEITHER),
        }
    }
}
