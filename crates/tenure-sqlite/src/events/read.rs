//! Reading events, by one snapshot each.

use rusqlite::{OptionalExtension, Params, params};
use tenure_core::event::{
    AllPage, Direction, PAGE_BYTES, PAGE_MAX, Position, Recorded, StreamPage, StreamRead, is_full,
};

use super::{decide, rows};
use crate::error::Fault;
use crate::reader::Snapshot;

/// Reads one stream.
pub(super) fn stream(snapshot: &Snapshot<'_>, read: &StreamRead) -> Result<StreamPage, Fault> {
    let statements = snapshot.events();
    let name = read.stream.as_str();
    let found = snapshot.prepare(&statements.stream_read)?.query_row([name], |row| row.get(0)).optional()?;
    let version = decide::version(&read.stream, found)?;
    let limit = read.limit.clamp(1, PAGE_MAX);
    let (statement, from) = match read.direction {
        Direction::Forward => (&statements.stream, read.from.map_or(i64::MIN, |from| from.0)),
        Direction::Backward => (&statements.stream_back, read.from.map_or(i64::MAX, |from| from.0)),
    };
    Ok(StreamPage { events: events(snapshot, statement, params![name, from, limit])?, version })
}

/// Reads all streams after a position.
///
/// One writer at a time gives out positions, so what a snapshot does not show below the head was never committed and never
/// will be. The head is lower than a reader knows it when the file was restored from an older copy.
pub(super) fn all(snapshot: &Snapshot<'_>, after: Position, limit: u32) -> Result<AllPage, Fault> {
    let statements = snapshot.events();
    let given: Option<i64> =
        snapshot.prepare(&statements.head)?.query_row([], |row| row.get(0)).optional()?;
    let limit = limit.clamp(1, PAGE_MAX);
    let events = events(snapshot, &statements.all, params![after.0, limit])?;
    let last = events.last().map(|event| event.position);
    let head = Position(given.unwrap_or(0)).max(last.unwrap_or_default());
    let full = last.filter(|_| is_full(&events, limit));
    Ok(AllPage { events, read_to: full.unwrap_or(head), head, stall: None })
}

fn events(snapshot: &Snapshot<'_>, statement: &str, parameters: impl Params) -> Result<Vec<Recorded>, Fault> {
    let mut statement = snapshot.prepare(statement)?;
    let mut found = statement.query(parameters)?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = found.next()?
    {
        let event = rows::recorded(row)?;
        bytes += event.body.as_bytes().len();
        events.push(event);
    }
    Ok(events)
}
