//! Rows of events and snapshots.

use tenure_core::StoreError;
use tenure_core::event::{
    Metadata, Position, Recorded, Seen, Snapshot, Standing, StreamLine, StreamName, Unreadable, Version,
};
use tenure_core::outbox::Body;

use super::{Columns, Reader, fit, named, present};

/// The event of a row, if there is one; of a row that cannot be read, what can.
///
/// The columns are `position`, `stream`, `version`, `event_id`, `type`, `schema_version`, `message_id`, `correlation`,
/// `causation`, `headers`, `recorded_us`, `payload` and `payload_bytes`.
pub fn recorded(row: &impl Columns) -> Option<Result<Recorded, Unreadable>> {
    // The key of the table: there is none only where there is no event.
    let position = Position(row.number("position").ok().flatten()?);
    let reason = match read(row, position).and_then(Recorded::checked) {
        Ok(event) => return Some(Ok(event)),
        Err(reason) => reason,
    };
    Some(Err(Unreadable {
        position,
        stream: row.text("stream").ok().flatten().and_then(|name| StreamName::new(name).ok()),
        version: row.number("version").ok().flatten().map(Version),
        kind: row.text("type").ok().flatten(),
        reason,
    }))
}

// In the order of the columns: a driver may find the next one at once.
fn read(row: &impl Columns, position: Position) -> Result<Recorded, String> {
    let text = |column| present(row.text(column), column);
    let maybe = |column| named(row.text(column), column);
    let stream = StreamName::new(text("stream")?).map_err(|error| format!("column stream: {error}"))?;
    let version = Version(present(row.number("version"), "version")?);
    let id = present(row.uuid("event_id"), "event_id")?;
    let kind = text("type")?;
    let schema = schema(row)?;
    let metadata = Metadata {
        message_id: named(row.uuid("message_id"), "message_id")?.map(Into::into),
        correlation: maybe("correlation")?,
        causation: maybe("causation")?,
        headers: match maybe("headers")? {
            None => Default::default(),
            Some(json) => {
                Metadata::headers_from_json(&json).ok_or("column headers holds no object of texts")?
            }
        },
    };
    let recorded_at = present(row.moment("recorded_us"), "recorded_at")?;
    Ok(Recorded { position, stream, version, id, kind, schema, body: body(row)?, metadata, recorded_at })
}

fn schema(row: &impl Columns) -> Result<u32, String> {
    fit(present(row.number("schema_version"), "schema_version")?, "schema_version")
}

/// A payload as text in one column, or as bytes in another.
fn body(row: &impl Columns) -> Result<Body, String> {
    let text = named(row.text("payload"), "payload")?;
    match (text, named(row.bytes("payload_bytes"), "payload_bytes")?) {
        (Some(text), None) => Ok(Body::Text(text)),
        (None, Some(bytes)) => Ok(Body::Bytes(bytes)),
        (None, None) => Err("there is no payload".into()),
        (Some(_), Some(_)) => Err("there are two payloads".into()),
    }
}

impl Reader<'_> {
    /// The event that stands where one of an append's may have come to stand, if a row has one. The columns are
    /// `stream`, `version`, `position`, `event_id`, `type`, `payload` and `payload_bytes`.
    pub fn standing(self, row: &impl Columns) -> Result<Option<Standing>, StoreError> {
        let read = |position| -> Result<Standing, String> {
            let stream = present(row.text("stream"), "stream")?;
            let version = Version(present(row.number("version"), "version")?);
            let id = present(row.uuid("event_id"), "event_id")?;
            let kind = present(row.text("type"), "type")?;
            Ok(Standing { stream, position, seen: Seen { id, version, kind, body: body(row)? } })
        };
        let position = self.maybe(row.number("position"), "position")?.map(Position);
        position.map(read).transpose().map_err(|message| self.corrupt(message))
    }

    /// The snapshot of a stream. The columns are `version`, `type`, `schema_version`, `payload` and `payload_bytes`.
    pub fn snapshot(self, row: &impl Columns, stream: &StreamName) -> Result<Snapshot, StoreError> {
        let read = || -> Result<Snapshot, String> {
            let version = Version(present(row.number("version"), "version")?);
            let kind = present(row.text("type"), "type")?;
            Ok(Snapshot { stream: stream.clone(), version, kind, schema: schema(row)?, body: body(row)? })
        };
        read().map_err(|message| self.corrupt(message))
    }

    /// A stream in a list. The columns are `stream`, `version` and `snapshot`.
    pub fn stream_line(self, row: &impl Columns) -> Result<StreamLine, StoreError> {
        let name = StreamName::new(self.need(row.text("stream"), "stream")?);
        Ok(StreamLine {
            stream: name.map_err(|error| self.corrupt(format!("column stream: {error}")))?,
            version: Version(self.need(row.number("version"), "version")?),
            snapshot: self.maybe(row.number("snapshot"), "snapshot")?.map(Version),
        })
    }
}
