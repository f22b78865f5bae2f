//! The last snapshot of each stream.

use rusqlite::{OptionalExtension, Row, params};
use tenure_core::event::{Snapshot, StreamName, Version};

use super::rows;
use crate::error::Fault;
use crate::reader;
use crate::rows::{Columns, need, payload};
use crate::writing::Writing;

pub(super) fn load(snapshot: &reader::Snapshot<'_>, stream: &StreamName) -> Result<Option<Snapshot>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.events().snapshot_load)?;
    let read = |row: &Row<'_>| -> Result<Snapshot, Fault> {
        Ok(Snapshot {
            stream: stream.clone(),
            version: Version(need(row.integer(0)?, "version")?),
            kind: need(row.text(1)?, "type")?,
            schema: rows::schema(row.integer(2)?)?,
            body: rows::body(row, 3)?,
        })
    };
    statement.query_row([stream.as_str()], |row| Ok(read(row))).optional()?.transpose()
}

/// Keeps a snapshot, unless there is one of a later version.
pub(super) fn save(writing: &Writing<'_>, snapshot: &Snapshot) -> Result<(), Fault> {
    let (text, bytes) = payload(&snapshot.body);
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
