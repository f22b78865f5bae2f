//! What an append carries, as the statement's parameters, and what its answers say.

use tenure_core::event::{
    Append, AppendAnswer, AppendProblem, Appended, Expected, InboxMark, NewEvent, Position, Seen, Version,
    same_events,
};
use tenure_core::outbox::{Body, NewMessage, shorten};
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use crate::outbox::{Batch, Before, parts};
use crate::rows::Columns;

/// Events as lists of columns, in the order of the statement's parameters.
#[derive(Default)]
pub(super) struct Rows<'a> {
    pub(super) ids: Vec<String>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) schemas: Vec<i32>,
    pub(super) messages: Vec<Option<String>>,
    pub(super) correlations: Vec<Option<&'a str>>,
    pub(super) causations: Vec<Option<&'a str>>,
    pub(super) headers: Vec<Option<String>>,
    pub(super) texts: Vec<Option<&'a str>>,
    pub(super) bytes: Vec<Option<&'a [u8]>>,
}

impl<'a> Rows<'a> {
    fn of(events: &'a [NewEvent]) -> Self {
        let mut rows = Self::default();
        for event in events {
            let (text, bytes) = parts(&event.body);
            rows.ids.push(event.id.to_string());
            rows.kinds.push(&event.kind);
            rows.schemas.push(i32::try_from(event.schema).unwrap_or(i32::MAX));
            rows.messages.push(event.metadata.message_id.map(|id| id.to_string()));
            rows.correlations.push(event.metadata.correlation.as_deref());
            rows.causations.push(event.metadata.causation.as_deref());
            rows.headers.push(event.metadata.headers_json());
            rows.texts.push(text);
            rows.bytes.push(bytes);
        }
        rows
    }
}

/// A mark as parameters.
#[derive(Default)]
pub(super) struct Mark<'a> {
    pub(super) consumer: Option<&'a str>,
    pub(super) message: Option<String>,
    pub(super) fingerprint: Option<String>,
    pub(super) refused: Option<String>,
}

impl<'a> Mark<'a> {
    fn of(mark: Option<&'a InboxMark>) -> Self {
        let Some(mark) = mark else { return Self::default() };
        Self {
            consumer: Some(mark.consumer.as_str()),
            message: Some(mark.id.to_string()),
            fingerprint: mark.fingerprint.map(|print| print.to_string()),
            refused: mark.refused.as_deref().map(shorten),
        }
    }
}

/// All that the statement is given.
pub(super) struct Given<'a> {
    pub(super) stream: &'a str,
    pub(super) expected: Option<i64>,
    pub(super) events: Rows<'a>,
    pub(super) mark: Mark<'a>,
    pub(super) dispatches: Batch<'a>,
}

impl<'a> Given<'a> {
    pub(super) fn of(append: &'a Append, dispatches: &[&'a NewMessage]) -> Self {
        let expected = match append.expected {
            Expected::Any => None,
            Expected::Exact(version) => Some(version.0),
        };
        Self {
            stream: append.stream.as_str(),
            expected,
            events: Rows::of(&append.events),
            mark: Mark::of(append.mark.as_ref()),
            dispatches: Batch::of(dispatches.iter().copied()),
        }
    }

    pub(super) fn params(&self) -> [(&(dyn ToSql + Sync), Type); 26] {
        let (events, mark, sent) = (&self.events, &self.mark, &self.dispatches);
        [
            (&self.stream, Type::TEXT),
            (&self.expected, Type::INT8),
            (&events.ids, Type::TEXT_ARRAY),
            (&events.kinds, Type::TEXT_ARRAY),
            (&events.schemas, Type::INT4_ARRAY),
            (&events.messages, Type::TEXT_ARRAY),
            (&events.correlations, Type::TEXT_ARRAY),
            (&events.causations, Type::TEXT_ARRAY),
            (&events.headers, Type::TEXT_ARRAY),
            (&events.texts, Type::TEXT_ARRAY),
            (&events.bytes, Type::BYTEA_ARRAY),
            (&mark.consumer, Type::TEXT),
            (&mark.message, Type::TEXT),
            (&mark.fingerprint, Type::TEXT),
            (&mark.refused, Type::TEXT),
            (&sent.ids, Type::TEXT_ARRAY),
            (&sent.sources, Type::TEXT_ARRAY),
            (&sent.versions, Type::INT8_ARRAY),
            (&sent.indexes, Type::INT4_ARRAY),
            (&sent.topics, Type::TEXT_ARRAY),
            (&sent.kinds, Type::TEXT_ARRAY),
            (&sent.texts, Type::TEXT_ARRAY),
            (&sent.bytes, Type::BYTEA_ARRAY),
            (&sent.content_types, Type::TEXT_ARRAY),
            (&sent.headers, Type::TEXT_ARRAY),
            (&sent.delays, Type::INT8_ARRAY),
        ]
    }

    /// The parameters of the look at what there is.
    pub(super) fn look(&self) -> [(&(dyn ToSql + Sync), Type); 5] {
        [
            (&self.stream, Type::TEXT),
            (&self.events.ids, Type::TEXT_ARRAY),
            (&self.expected, Type::INT8),
            (&self.mark.consumer, Type::TEXT),
            (&self.mark.message, Type::TEXT),
        ]
    }
}

/// What the statement has answered.
pub(super) struct Reply {
    /// The version that the events follow; `None` when nothing was written.
    pub(super) base: Option<i64>,
    pub(super) position: Option<i64>,
    pub(super) before: Option<Before>,
}

impl Reply {
    pub(super) fn read(row: &impl Columns) -> Result<Self, String> {
        Ok(Self { base: row.number("base")?, position: row.number("position")?, before: before(row)? })
    }
}

/// What the inbox says of the message already.
fn before(row: &impl Columns) -> Result<Option<Before>, String> {
    if row.number("seen")?.unwrap_or_default() == 0 {
        return Ok(None);
    }
    Ok(Some(Before { print: row.text("fingerprint")?, refused: row.text("refused")? }))
}

/// What there is when nothing was written.
pub(super) struct There {
    pub(super) actual: Version,
    pub(super) before: Option<Before>,
    events: Vec<(Position, String, Seen)>,
}

impl There {
    pub(super) fn read(rows: &[impl Columns]) -> Result<Self, String> {
        let first = rows.first().ok_or("the server answered with no row where there is always one")?;
        let mut events = Vec::new();
        for row in rows {
            let Some(position) = row.number("position")? else { continue };
            let stream = row.text("stream")?.unwrap_or_default();
            let id = row.text("event_id")?.unwrap_or_default();
            let id = Uuid::try_parse(&id).map_err(|error| format!("column event_id: {error}"))?;
            let version = Version(row.number("version")?.unwrap_or_default());
            let kind = row.text("type")?.unwrap_or_default();
            let body = body(row.text("payload")?, row.bytes("payload_bytes")?);
            events.push((Position(position), stream, Seen { id, version, kind, body }));
        }
        let actual = Version(first.number("actual")?.unwrap_or_default());
        Ok(Self { actual, before: before(first)?, events })
    }

    /// Whether the append can still happen as far as the stream is concerned: nothing there speaks against it.
    pub(super) fn is_free(&self, append: &Append) -> bool {
        match append.expected {
            Expected::Any => self.events.is_empty(),
            Expected::Exact(version) => version == self.actual,
        }
    }

    /// The answer to an append that cannot happen: it has happened before, or the stream has moved, or an id is taken.
    pub(super) fn answer(self, append: &Append) -> Result<AppendAnswer, AppendProblem> {
        // An id that is taken in another stream is as good as none here.
        let here = self.events.into_iter().filter(|(_, stream, _)| stream == append.stream.as_str());
        let (places, seen): (Vec<Position>, Vec<Seen>) = here.map(|(place, _, seen)| (place, seen)).unzip();
        let same = same_events(append, &seen).map_err(|id| AppendProblem::OtherContent { id })?;
        match places.last().zip(seen.last()).filter(|_| same) {
            Some((position, last)) => Ok(AppendAnswer::Appended(Appended {
                version: last.version,
                position: Some(*position),
                repeated: true,
            })),
            None => Ok(AppendAnswer::Conflict { actual: self.actual }),
        }
    }
}

/// What a row says, as text or as bytes.
pub(super) fn body(text: Option<String>, bytes: Option<Vec<u8>>) -> Body {
    match (text, bytes) {
        (None, Some(bytes)) => Body::Bytes(bytes),
        (text, _) => Body::Text(text.unwrap_or_default()),
    }
}
