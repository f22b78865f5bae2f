//! The events as plain tables: the plainest reading of the contract, and what a simulator can drive.
//!
//! ```text
//!   rows       the events by position; an event never changes
//!   streams    the positions of each stream's events, the first one first
//!   open       transactions that have taken positions and not ended: no reader gets past the first of them
//!   snapshots  the last one of each stream
//! ```
//!
//! No clock and no chance of its own, as in the outbox's tables.

mod append;
mod checkpoints;
mod read;
mod snapshots;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::event::{Position, Recorded, Snapshot, StreamName, Unreadable, Version};

pub use crate::subscription::Backward;
pub use append::{Overtaken, StagedEvents};
pub use checkpoints::CheckpointTables;

/// The tables of the events, in memory.
#[derive(Debug, Clone, Default)]
pub struct EventTables {
    /// The position that was given last, also to an event that was never committed.
    last_position: i64,
    rows: BTreeMap<Position, Recorded>,
    /// Rows that cannot be read, and why.
    damaged: BTreeMap<Position, String>,
    streams: BTreeMap<StreamName, Vec<Position>>,
    /// The ids of events that were appended at any version: a retry of such an append is known by them alone.
    ids_at_any: BTreeSet<Uuid>,
    snapshots: BTreeMap<StreamName, Snapshot>,
    /// The first position of each open transaction.
    open: BTreeMap<u64, Position>,
    last_open: u64,
}

impl EventTables {
    /// Tables without a row.
    pub fn new() -> Self {
        Self::default()
    }

    /// The last position that was ever given out.
    pub fn head(&self) -> Position {
        Position(self.last_position)
    }

    /// How many events of a stream are committed.
    pub fn version_of(&self, stream: &StreamName) -> Version {
        Version::NONE.plus(self.streams.get(stream).map_or(0, Vec::len))
    }

    /// Every committed event, by its position.
    pub fn all(&self) -> impl Iterator<Item = &Recorded> {
        self.rows.values()
    }

    /// Makes an event's row unreadable, as someone could do to a real table by hand. Whether there is such a row.
    pub fn damage(&mut self, position: Position, reason: &str) -> bool {
        let there = self.rows.contains_key(&position);
        if there {
            self.damaged.insert(position, reason.to_owned());
        }
        there
    }

    /// The event, unless its row is damaged.
    fn readable(&self, event: &Recorded) -> Result<Recorded, Unreadable> {
        match self.damaged.get(&event.position) {
            None => Ok(event.clone()),
            Some(reason) => Err(Unreadable {
                position: event.position,
                stream: Some(event.stream.clone()),
                version: Some(event.version),
                kind: Some(event.kind.clone()),
                reason: reason.clone(),
            }),
        }
    }

    /// Becomes what `backup` is, as a restored database would: whatever is open, here or there, is gone.
    pub fn restore_from(&mut self, backup: &Self) {
        let last_open = self.last_open;
        *self = Self { open: BTreeMap::new(), last_open, ..backup.clone() };
    }
}
