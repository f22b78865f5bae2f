//! Reading, by stream and by position.

use std::ops::Bound;

use super::EventTables;
use crate::event::{
    AllPage, Direction, PAGE_BYTES, PAGE_MAX, PageRows, Position, Recorded, Stall, StreamLine, StreamName,
    StreamPage, StreamRead, Unreadable, Version,
};

impl EventTables {
    /// Reads one stream, unless a row of the page cannot be read.
    pub fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, Unreadable> {
        let positions = self.streams.get(&read.stream).map_or(&[][..], Vec::as_slice);
        let event = |position: &Position| self.rows.get(position);
        let events = match read.direction {
            Direction::Forward => {
                let skipped = place(read.from.map_or(0, |from| from.0.saturating_sub(1)), positions.len());
                page(positions[skipped..].iter().filter_map(event), read.limit)
            }
            Direction::Backward => {
                let last = place(read.from.map_or(i64::MAX, |from| from.0), positions.len());
                page(positions[..last].iter().rev().filter_map(event), read.limit)
            }
        };
        let events = events.map(|event| self.readable(event)).collect::<Result<_, _>>()?;
        Ok(StreamPage { events, version: Version::NONE.plus(positions.len()) })
    }

    /// Reads all streams after a position, up to the first one that an open transaction has taken.
    pub fn read_all(&self, after: Position, limit: u32) -> AllPage {
        let head = self.head();
        // What is proven: nothing below may still appear.
        let proven = self.open.values().min().map_or(head, |first| Position(first.0 - 1));
        let rest = self.rows.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, event)| event);
        let mut rows = PageRows::default();
        for event in page(rest.take_while(|event| event.position <= proven), limit) {
            rows.push(self.readable(event));
        }
        let full = rows.full(limit);
        // Who is ahead of the store is told so by a lower place than its own.
        let to_the_end = if head < after { head } else { proven.max(after) };
        let stall = (full.is_none() && proven < head).then(|| Stall {
            at: Position(proven.0 + 1),
            reason: "a transaction of this process has appended and not ended".into(),
            lasts: None,
        });
        let PageRows { events, unreadable } = rows;
        AllPage { events, unreadable, read_to: full.unwrap_or(to_the_end), head, stall }
    }
}

impl EventTables {
    /// Streams by name after one that begin so.
    pub fn streams(&self, prefix: &str, after: Option<&StreamName>, limit: u32) -> Vec<StreamLine> {
        let wanted = self
            .streams
            .iter()
            .filter(|(name, _)| name.as_str().starts_with(prefix) && after.is_none_or(|after| *name > after));
        let line = |(name, positions): (&StreamName, &Vec<Position>)| StreamLine {
            stream: name.clone(),
            version: Version::NONE.plus(positions.len()),
            snapshot: self.snapshot_of(name).map(|snapshot| snapshot.version),
        };
        wanted.take(limit as usize).map(line).collect()
    }

    /// Events that share a correlation.
    pub fn story(&self, correlation: &str, after: Position, limit: u32) -> PageRows {
        let rest = self.rows.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, event)| event);
        let shared = rest.filter(|event| event.metadata.correlation.as_deref() == Some(correlation));
        let mut rows = PageRows::default();
        for event in page(shared, limit) {
            rows.push(self.readable(event));
        }
        rows
    }
}

/// As many as a page takes.
fn page<'a>(events: impl Iterator<Item = &'a Recorded>, limit: u32) -> std::vec::IntoIter<&'a Recorded> {
    let mut bytes = 0;
    let fits = |event: &&Recorded| {
        let before = bytes;
        bytes += event.body.as_bytes().len();
        before < PAGE_BYTES
    };
    events.take(limit.clamp(1, PAGE_MAX) as usize).take_while(fits).collect::<Vec<_>>().into_iter()
}

/// A version as a place in a list of so many.
fn place(version: i64, len: usize) -> usize {
    usize::try_from(version.max(0)).map_or(len, |version| version.min(len))
}
