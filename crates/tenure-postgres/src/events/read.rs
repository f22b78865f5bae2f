//! Reading: one stream, or all of them as far as nothing can appear any more.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::event::{
    AllPage, Direction, PAGE_MAX, PageRows, Position, Recorded, STORY_MAX, STREAMS_MAX, StreamLine,
    StreamName, StreamPage, StreamRead, Unreadable, Version,
};
use tenure_core::observe::NameRange;
use tenure_sql::{Columns as _, Reader, recorded};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::horizon::{Horizon, Writer};
use super::session::{corrupt, only};
use crate::error::store_error;
use crate::rows::Plain;
use crate::store::Shared;
use crate::writing::Params;

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
        let rows_wanted = i64::from(limit);
        let asked = async |top: &str| {
            let all: Params<'_> = &[(&after.0, Type::INT8), (&rows_wanted, Type::INT8)];
            self.run_each(&[(top, &[]), (&texts.horizon, &[]), (&texts.all, all)]).await
        };
        let answers = match asked(&texts.top).await {
            // Who only looks may have no right to the counter. What he reads moves no cursor, so the last row will do.
            Err(StoreError::Refused { .. }) if self.looking => asked(&texts.top_seen).await?,
            answers => answers?,
        };
        let [top, writers, rows] = &answers[..] else {
            return Err(corrupt(&self.label, "the server left a question unanswered".into()));
        };
        let top: i64 = only(&self.label, top)?.try_get(0).map_err(|error| store_error(&self.label, error))?;
        let writers = writers.iter().map(Plain).map(writer).collect::<Result<Vec<_>, String>>();
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

    /// Events that share a correlation.
    pub(crate) async fn story(
        &self,
        correlation: &str,
        after: Position,
        limit: u32,
    ) -> Result<PageRows, StoreError> {
        let limit = i64::from(limit.min(STORY_MAX));
        let params: Params<'_> = &[(&correlation, Type::TEXT), (&after.0, Type::INT8), (&limit, Type::INT8)];
        let rows = self.run(&self.statements.events.story, params).await?;
        let mut found = PageRows::default();
        self.recorded(&rows)?.for_each(|row| found.push(row));
        Ok(found)
    }

    /// Streams by name.
    pub(crate) async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError> {
        let range = NameRange::of(prefix, after.map(StreamName::as_str));
        let params: Params<'_> = &[
            (&range.from, Type::TEXT),
            (&range.below, Type::TEXT),
            (&range.but, Type::TEXT),
            (&i64::from(limit.min(STREAMS_MAX)), Type::INT8),
        ];
        let rows = self.run(&self.statements.events.streams, params).await?;
        rows.iter().map(|row| Reader { store: &self.label }.stream_line(&Plain(row))).collect()
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
        Ok(rows.iter().filter_map(|row| recorded(&Plain(row))))
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
    ("recorded_us", Type::TIMESTAMPTZ),
    ("payload", Type::TEXT),
    ("payload_bytes", Type::BYTEA),
];

fn writer(row: Plain<'_>) -> Result<Writer, String> {
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
