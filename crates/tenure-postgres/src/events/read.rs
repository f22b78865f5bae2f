//! Reading: one stream, or all of them as far as nothing can appear any more.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::event::{
    AllPage, Direction, Metadata, PAGE_MAX, PageRows, Position, Recorded, StreamName, StreamPage, StreamRead,
    Unreadable, Version,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::content::body;
use super::horizon::{Horizon, Writer};
use super::session::{corrupt, only};
use crate::error::store_error;
use crate::rows::Columns;
use crate::store::Shared;
use crate::wire::{Id, Stamp};

impl Shared {
    pub(super) async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        let texts = &self.statements.events;
        let (sql, from) = match read.direction {
            Direction::Forward => (&texts.forward, read.from.map_or(1, |version| version.0)),
            Direction::Backward => (&texts.backward, read.from.map_or(i64::MAX, |version| version.0)),
        };
        let limit = i64::from(read.limit.clamp(1, PAGE_MAX));
        let stream = read.stream.as_str();
        let rows = self.run(sql, &[(&stream, Type::TEXT), (&from, Type::INT8), (&limit, Type::INT8)]).await?;
        let actual: i64 =
            only(&self.label, &rows)?.try_get("actual").map_err(|error| store_error(&self.label, error))?;
        let events =
            self.recorded(&rows)?.map(|row| row.map_err(|row| corrupt(&self.label, row.to_string())));
        Ok(StreamPage { events: events.collect::<Result<_, _>>()?, version: Version(actual) })
    }

    /// The order of the three statements is what makes it right: see the file about the horizon.
    pub(super) async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        let texts = &self.statements.events;
        let limit = limit.clamp(1, PAGE_MAX);
        let answers = self
            .run_each(&[
                (&texts.top, &[]),
                (&texts.horizon, &[]),
                (&texts.all, &[(&after.0, Type::INT8), (&i64::from(limit), Type::INT8)]),
            ])
            .await?;
        let [top, writers, rows] = &answers[..] else {
            return Err(corrupt(&self.label, "the server left a question unanswered".into()));
        };
        let top: i64 = only(&self.label, top)?.try_get(0).map_err(|error| store_error(&self.label, error))?;
        let writers = writers.iter().map(writer).collect::<Result<Vec<_>, String>>();
        let writers = writers.map_err(|message| corrupt(&self.label, message))?;
        let horizon = Horizon::new(top, &writers);
        let mut found = PageRows::default();
        self.recorded(rows)?.for_each(|row| found.push(row));
        found.end_at(Position(horizon.limit.saturating_sub(1)));
        let full = found.full(limit);
        Ok(AllPage {
            events: found.events,
            unreadable: found.unreadable,
            read_to: full.unwrap_or_else(|| horizon.read_to(after)),
            head: horizon.head(),
            stall: if full.is_some() { None } else { horizon.stall(after) },
        })
    }

    /// Events, of rows of which the first may be none. A table whose columns are not ours is no matter of single rows:
    /// nobody is to put aside one after another.
    fn recorded<'a>(
        &self,
        rows: &'a [Row],
    ) -> Result<impl Iterator<Item = Result<Recorded, Unreadable>> + use<'a>, StoreError> {
        for (name, ours) in COLUMNS {
            let column = |row: &'a Row| row.columns().iter().find(|column| column.name() == name);
            if let Some(theirs) = rows.first().and_then(column).filter(|column| *column.type_() != ours) {
                let message =
                    format!("column {name} of the events is of type {}, not {ours}", theirs.type_());
                return Err(corrupt(&self.label, message));
            }
        }
        Ok(rows.iter().filter_map(recorded))
    }
}

/// What the columns of an event hold.
const COLUMNS: [(&str, Type); 13] = [
    ("position", Type::INT8),
    ("stream", Type::TEXT),
    ("version", Type::INT8),
    ("event_id", Type::UUID),
    ("type", Type::TEXT),
    ("schema_version", Type::INT4),
    ("message_id", Type::UUID),
    ("correlation", Type::TEXT),
    ("causation", Type::TEXT),
    ("headers", Type::TEXT),
    ("recorded_at", Type::TIMESTAMPTZ),
    ("payload", Type::TEXT),
    ("payload_bytes", Type::BYTEA),
];

/// The event of a row, if there is one; of a row that cannot be read, what can.
fn recorded(row: &Row) -> Option<Result<Recorded, Unreadable>> {
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

fn read(row: &Row, position: Position) -> Result<Recorded, String> {
    let error = |error: tokio_postgres::Error| error.to_string();
    let need = |column: &str| row.text(column)?.ok_or_else(|| format!("column {column} is empty"));
    let schema: i32 = row.try_get("schema_version").map_err(error)?;
    let headers = match row.text("headers")? {
        None => Default::default(),
        Some(json) => Metadata::headers_from_json(&json).ok_or("column headers holds no object of texts")?,
    };
    let body = match (row.text("payload")?, row.bytes("payload_bytes")?) {
        (None, None) => return Err("there is no payload".into()),
        (Some(_), Some(_)) => return Err("there are two payloads".into()),
        (text, bytes) => body(text, bytes),
    };
    let metadata = Metadata {
        message_id: row.try_get::<_, Option<Id>>("message_id").map_err(error)?.map(|id| id.0.into()),
        correlation: row.text("correlation")?,
        causation: row.text("causation")?,
        headers,
    };
    Ok(Recorded {
        position,
        stream: StreamName::new(need("stream")?).map_err(|error| error.to_string())?,
        version: Version(row.number("version")?.unwrap_or_default()),
        id: row.try_get::<_, Id>("event_id").map_err(error)?.0,
        kind: need("type")?,
        schema: u32::try_from(schema).map_err(|_| format!("column schema_version holds {schema}"))?,
        body,
        metadata,
        recorded_at: row.try_get::<_, Stamp>("recorded_at").map_err(error)?.0,
    })
}

fn writer(row: &Row) -> Result<Writer, String> {
    let key = row.number("key")?.unwrap_or_default();
    let lasts = row.number("lasts_us")?.map(|micros| Duration::from_micros(micros.max(0).unsigned_abs()));
    Ok(Writer {
        key: key as u32,
        pid: row.number("pid")?,
        state: row.text("state")?,
        application: row.text("application_name")?,
        role: row.text("role")?,
        gid: row.text("gid")?,
        lasts,
    })
}
