//! Reading: one stream at one moment, and all streams in three questions, each at a moment of its own.

use std::ops::Bound;

use tenure_core::event::{
    AllPage, PageRows, Position, Recorded, Stall, StreamName, StreamPage, Unreadable, Version,
};

use super::{Books, Caller};

/// A look at all streams that is under way.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) caller: Caller,
    after: Position,
    limit: u32,
    /// The first question: which position comes next.
    top: Option<i64>,
    /// The second: which is the first that an open transaction may still fill.
    floor: Option<Option<i64>>,
}

impl Books {
    /// Reads a stream from a version on.
    pub(crate) fn read_stream(&self, stream: &StreamName, from: Version, limit: u32) -> StreamPage {
        let positions = self.streams.get(stream).map_or(&[][..], Vec::as_slice);
        let skipped = usize::try_from(from.0 - 1).unwrap_or(0).min(positions.len());
        let events = positions[skipped..]
            .iter()
            .take(limit as usize)
            .filter_map(|position| self.rows.get(position))
            .map(|row| Recorded::clone(row))
            .collect();
        StreamPage { events, version: Version::NONE.plus(positions.len()) }
    }

    /// Begins a look at all streams.
    pub(crate) fn begin_reading(&mut self, after: Position, limit: u32, caller: Caller) -> u64 {
        let reading = self.next_serial();
        self.readings.insert(reading, Reading { caller, after, limit, top: None, floor: None });
        reading
    }

    /// Asks the next of the three questions; the page, once all are answered.
    pub(crate) fn read_on(&mut self, reading: u64) -> Option<(Caller, AllPage)> {
        let floor = self.open.values().filter_map(|open| open.floor()).min();
        let look = self.readings.get_mut(&reading)?;
        let Some(top) = look.top else {
            look.top = Some(self.last_position + 1);
            return None;
        };
        let Some(floor) = look.floor else {
            look.floor = Some(floor);
            return None;
        };
        let Reading { caller, after, limit, .. } = self.readings.remove(&reading)?;
        Some((caller, self.page(after, limit, top, floor)))
    }

    fn page(&self, after: Position, limit: u32, top: i64, floor: Option<i64>) -> AllPage {
        let horizon = floor.map_or(top, |floor| floor.min(top));
        let rows = self.rows.range((Bound::Excluded(after), Bound::Unbounded)).take(limit as usize);
        let mut found = PageRows::default();
        for (_, row) in rows.filter(|(position, _)| position.0 < horizon) {
            found.push(if self.damaged { readable(row) } else { Ok(Recorded::clone(row)) });
        }
        let full = found.full(limit);
        let head = Position(top - 1);
        let to_the_end = if head < after { head } else { Position(horizon - 1).max(after) };
        let stall = (full.is_none() && horizon < top).then(|| Stall {
            at: Position(horizon),
            reason: "a transaction is open".into(),
            lasts: None,
        });
        let PageRows { events, unreadable } = found;
        AllPage { events, unreadable, read_to: full.unwrap_or(to_the_end), head, stall }
    }
}

/// One event in so many is damaged where readers of all events look.
const DAMAGED: u128 = 500;

/// The event as readers of all events find it: some cannot be read, always the same ones. Entities are spared, for one whose
/// stream cannot be read stands still until someone mends it.
fn readable(event: &Recorded) -> Result<Recorded, Unreadable> {
    if event.id.as_u128() % DAMAGED != DAMAGED - 1 {
        return Ok(event.clone());
    }
    Err(Unreadable {
        position: event.position,
        stream: None,
        version: None,
        kind: None,
        reason: "someone has damaged it".into(),
    })
}
