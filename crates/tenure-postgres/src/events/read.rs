//! Reading: one stream, or all of them as far as nothing can appear any more.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::event::{
    AllPage, Direction, Metadata, PAGE_MAX, Position, Recorded, StreamName, StreamPage, StreamRead, Version,
    is_full,
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
        Ok(StreamPage { events: self.recorded(&rows)?, version: Version(actual) })
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
        let mut events = self.recorded(rows)?;
        events.retain(|event| event.position.0 < horizon.limit);
        let last = events.last().map(|event| event.position);
        let full = last.filter(|_| is_full(&events, limit));
        Ok(AllPage {
            events,
            read_to: full.unwrap_or_else(|| horizon.read_to(after)),
            head: horizon.head(),
            stall: if full.is_some() { None } else { horizon.stall(after) },
        })
    }

    /// Events, of rows of which the first may be none.
    fn recorded(&self, rows: &[Row]) -> Result<Vec<Recorded>, StoreError> {
        let read = |row| recorded(row).map_err(|message| corrupt(&self.label, message)).transpose();
        rows.iter().filter_map(read).collect()
    }
}

fn recorded(row: &Row) -> Result<Option<Recorded>, String> {
    let error = |error: tokio_postgres::Error| error.to_string();
    let Some(position) = row.number("position")? else { return Ok(None) };
    let need = |column: &str| row.text(column)?.ok_or_else(|| format!("column {column} is empty"));
    let schema: i32 = row.try_get("schema_version").map_err(error)?;
    let headers = match row.text("headers")? {
        None => Default::default(),
        Some(json) => {
            serde_json::from_str(&json).map_err(|error| format!("headers at {position}: {error}"))?
        }
    };
    let metadata = Metadata {
        message_id: row.try_get::<_, Option<Id>>("message_id").map_err(error)?.map(|id| id.0.into()),
        correlation: row.text("correlation")?,
        causation: row.text("causation")?,
        headers,
    };
    Ok(Some(Recorded {
        position: Position(position),
        stream: StreamName::new(need("stream")?).map_err(|error| error.to_string())?,
        version: Version(row.number("version")?.unwrap_or_default()),
        id: row.try_get::<_, Id>("event_id").map_err(error)?.0,
        kind: need("type")?,
        schema: u32::try_from(schema).map_err(|_| format!("column schema_version holds {schema}"))?,
        body: body(row.text("payload")?, row.bytes("payload_bytes")?),
        metadata,
        recorded_at: row.try_get::<_, Stamp>("recorded_at").map_err(error)?.0,
    }))
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
