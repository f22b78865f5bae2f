//! Reading events, by one snapshot each.

use rusqlite::{OptionalExtension, Params, params};
use tenure_core::event::{
    AllPage, Direction, PAGE_BYTES, PAGE_MAX, PageRows, Position, Recorded, StreamLine, StreamPage,
    StreamRead, Unreadable,
};
use tenure_core::observe::NameRange;
use tenure_sql::recorded;

use super::decide;
use crate::error::Fault;
use crate::reader::Snapshot;
use crate::rows::{Names, Plain, READER};

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
    let mut events = Vec::new();
    each(snapshot, statement, params![name, from, limit], |row| {
        events.push(row.map_err(|row| Fault::Corrupt(row.to_string()))?);
        Ok(())
    })?;
    Ok(StreamPage { events, version })
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
    let mut rows = PageRows::default();
    each(snapshot, &statements.all, params![after.0, limit], |row| {
        rows.push(row);
        Ok(())
    })?;
    let head = Position(given.unwrap_or(0)).max(rows.last().unwrap_or_default());
    let read_to = rows.full(limit).unwrap_or(head);
    let PageRows { events, unreadable } = rows;
    Ok(AllPage { events, unreadable, read_to, head, stall: None })
}

/// Events that share a correlation.
pub(crate) fn story(
    snapshot: &Snapshot<'_>,
    correlation: &str,
    after: Position,
    limit: u32,
) -> Result<PageRows, Fault> {
    let mut rows = PageRows::default();
    each(snapshot, &snapshot.events().story, params![correlation, after.0, limit], |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// Streams in a range of names.
pub(crate) fn streams(
    snapshot: &Snapshot<'_>,
    range: &NameRange,
    limit: u32,
) -> Result<Vec<StreamLine>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.events().streams)?;
    let mut found = statement.query(params![range.from, range.below, range.but, limit])?;
    let mut lines = Vec::new();
    while let Some(row) = found.next()? {
        lines.push(READER.stream_line(&Plain::of(row))?);
    }
    Ok(lines)
}

/// Gives the rows of a page, one by one.
fn each(
    snapshot: &Snapshot<'_>,
    statement: &str,
    parameters: impl Params,
    mut take: impl FnMut(Result<Recorded, Unreadable>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut statement = snapshot.prepare(statement)?;
    let names = Names::of(&statement);
    let mut found = statement.query(parameters)?;
    let mut bytes = 0;
    while bytes < PAGE_BYTES
        && let Some(row) = found.next()?
    {
        let Some(row) = recorded(&Plain::named(row, &names)) else { continue };
        bytes += row.as_ref().map_or(0, |event| event.body.as_bytes().len());
        take(row)?;
    }
    Ok(())
}
