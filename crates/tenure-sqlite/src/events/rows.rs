//! Rows of events, as the words of the core.

use tenure_core::event::{Metadata, Position, Recorded, Seen, StreamName, Unreadable, Version};
use tenure_core::outbox::Body;
use tenure_core::time::StoreTime;

use super::decide::Standing;
use crate::error::Fault;
use crate::rows::{Columns, need, nonsense, parse};

/// Reads the columns of `events_columns.sql`; of a row that cannot be read, what can.
pub(super) fn recorded(row: &impl Columns) -> Result<Result<Recorded, Unreadable>, Fault> {
    let position = Position(need(row.integer(0)?, "position")?);
    let reason = match read(row, position).map(Recorded::checked) {
        Ok(Ok(event)) => return Ok(Ok(event)),
        Ok(Err(reason)) => reason,
        Err(fault) => fault.in_a_row()?,
    };
    Ok(Err(Unreadable {
        position,
        stream: row.text(1).ok().and_then(|text| stream(text).ok()),
        version: row.integer(2).ok().flatten().map(Version),
        kind: row.text(4).ok().flatten(),
        reason,
    }))
}

fn read(row: &impl Columns, position: Position) -> Result<Recorded, Fault> {
    let headers = row.text(9)?.map(|headers| Metadata::headers_from_json(&headers));
    Ok(Recorded {
        position,
        stream: stream(row.text(1)?)?,
        version: Version(need(row.integer(2)?, "version")?),
        id: parse(row.text(3)?, "event_id")?,
        kind: need(row.text(4)?, "type")?,
        schema: schema(row.integer(5)?)?,
        body: body(row, 11)?,
        metadata: Metadata {
            message_id: row.text(6)?.map(|id| parse(Some(id), "message_id")).transpose()?,
            correlation: row.text(7)?,
            causation: row.text(8)?,
            headers: headers.map(|headers| need(headers, "headers")).transpose()?.unwrap_or_default(),
        },
        recorded_at: StoreTime::from_micros(need(row.integer(10)?, "recorded_at")?),
    })
}

/// Reads the columns of `events_existing.sql` and `events_known.sql`.
pub(super) fn standing(row: &impl Columns) -> Result<Standing, Fault> {
    Ok(Standing {
        stream: need(row.text(0)?, "stream")?,
        position: Position(need(row.integer(2)?, "position")?),
        seen: Seen {
            id: parse(row.text(3)?, "event_id")?,
            version: Version(need(row.integer(1)?, "version")?),
            kind: need(row.text(4)?, "type")?,
            body: body(row, 5)?,
        },
    })
}

/// A payload as text in one column, or as bytes in the next.
pub(super) fn body(row: &impl Columns, at: usize) -> Result<Body, Fault> {
    match (row.text(at)?, row.bytes(at + 1)?) {
        (Some(text), None) => Ok(Body::Text(text)),
        (None, Some(bytes)) => Ok(Body::Bytes(bytes)),
        _ => Err(nonsense("payload")),
    }
}

pub(super) fn stream(text: Option<String>) -> Result<StreamName, Fault> {
    StreamName::new(need(text, "stream")?).map_err(|_| nonsense("stream"))
}

pub(super) fn schema(number: Option<i64>) -> Result<u32, Fault> {
    u32::try_from(need(number, "schema_version")?).map_err(|_| nonsense("schema_version"))
}
