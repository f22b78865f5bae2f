//! What is asked of a store's events, and what it answers.

use std::time::Duration;

use serde::Serialize;

use super::{Position, Recorded, StreamName, Unreadable, Version};

/// The most events of one page.
pub const PAGE_MAX: u32 = 10_000;
/// A page takes no further event when the payloads in it come to so much: 8 MiB.
pub const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// What a store has found for a page of all streams, in the order of positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRows {
    /// The events.
    pub events: Vec<Recorded>,
    /// Rows among them that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

impl PageRows {
    /// Takes a row, read or not.
    pub fn push(&mut self, row: Result<Recorded, Unreadable>) {
        match row {
            Ok(event) => self.events.push(event),
            Err(unreadable) => self.unreadable.push(unreadable),
        }
    }

    /// Leaves out everything after a position.
    pub fn end_at(&mut self, last: Position) {
        self.events.retain(|event| event.position <= last);
        self.unreadable.retain(|row| row.position <= last);
    }

    /// The last position.
    pub fn last(&self) -> Option<Position> {
        let event = self.events.last().map(|event| event.position);
        event.max(self.unreadable.last().map(|row| row.position))
    }

    /// The last position of a page that takes no further row: it has as many as were asked for, or as much as memory is to
    /// hold of them. Then there may be more; `None` when all there is was found.
    pub fn full(&self, limit: u32) -> Option<Position> {
        let bytes: usize = self.events.iter().map(|event| event.body.as_bytes().len()).sum();
        let enough = self.events.len() >= limit.clamp(1, PAGE_MAX) as usize || bytes >= PAGE_BYTES;
        // How large a row is that cannot be read is not known: there may be more behind any of them.
        self.last().filter(|_| enough || !self.unreadable.is_empty())
    }
}

/// Which way a stream is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the first event on.
    #[default]
    Forward,
    /// From the last event back.
    Backward,
}

/// A look at one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRead {
    /// The stream.
    pub stream: StreamName,
    /// Which way.
    pub direction: Direction,
    /// The first version to be read; `None` from the stream's first or, backward, last event on.
    pub from: Option<Version>,
    /// How many events at most; at least 1, at most [`PAGE_MAX`]. Large ones end a page sooner: see [`PAGE_BYTES`].
    pub limit: u32,
}

impl StreamRead {
    /// Forward, from a version on.
    pub fn forward(stream: StreamName, from: Version, limit: u32) -> Self {
        Self { stream, direction: Direction::Forward, from: Some(from), limit }
    }

    /// Backward from the last event.
    pub fn backward(stream: StreamName, limit: u32) -> Self {
        Self { stream, direction: Direction::Backward, from: None, limit }
    }
}

/// The events of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPage {
    /// The events, in the order that was asked for.
    pub events: Vec<Recorded>,
    /// The stream's version: that of its last event, wherever the page ends. It tells whether there is more.
    pub version: Version,
}

/// Events of all streams, in the order of their positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllPage {
    /// The events.
    pub events: Vec<Recorded>,
    /// Rows among them that cannot be read. Who only takes the events passes over these: say so, or put them aside.
    pub unreadable: Vec<Unreadable>,
    /// Nothing at or below this position will ever appear that is not in this page or before it. A reader goes on after
    /// it. Not below where the page began, unless the reader is ahead of the store.
    pub read_to: Position,
    /// The last position that was ever given out.
    pub head: Position,
    /// Why the page ends before the head, if it does so for another reason than its limit.
    pub stall: Option<Stall>,
}

/// What holds readers up: a transaction that has appended and has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// The first position that may still appear.
    pub at: Position,
    /// Who holds it up, and how to find it, for people.
    pub reason: String,
    /// For how long it has been going on, as far as the store knows.
    pub lasts: Option<Duration>,
}
