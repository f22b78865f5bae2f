//! The last snapshot of each stream.

use rusqlite::{OptionalExtension, Row, params};
use tenure_core::event::{Snapshot, StreamName};

use crate::error::Fault;
use crate::reader;
use crate::rows::{Plain, READER};
use crate::writing::Writing;

pub(super) fn load(snapshot: &reader::Snapshot<'_>, stream: &StreamName) -> Result<Option<Snapshot>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.events().snapshot_load)?;
    let read = |row: &Row<'_>| READER.snapshot(&Plain::of(row), stream);
    Ok(statement.query_row([stream.as_str()], |row| Ok(read(row))).optional()?.transpose()?)
}

/// Keeps a snapshot, unless there is one of a later version.
pub(super) fn save(writing: &Writing<'_>, snapshot: &Snapshot) -> Result<(), Fault> {
    let (text, bytes) = snapshot.body.parts();
    let mut statement = writing.connection.prepare_cached(&writing.statements.events.snapshot_save)?;
    statement.execute(params![
        snapshot.stream.as_str(),
        snapshot.version.0,
        snapshot.kind,
        snapshot.schema,
        writing.now.wall.as_micros(),
        text,
        bytes,
    ])?;
    Ok(())
}
