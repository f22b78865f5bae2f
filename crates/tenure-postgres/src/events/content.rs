//! What an append carries, as the statement's parameters, and what its answers say.

use tenure_core::StoreError;
use tenure_core::event::{
    Append, AppendAnswer, AppendProblem, Expected, InboxMark, NewEvent, Standing, Version, not_again,
};
use tenure_core::outbox::{NewMessage, shorten};
use tenure_sql::{Before, Columns, Reader};
use tokio_postgres::types::{ToSql, Type};

use crate::outbox::Batch;

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
            let (text, bytes) = event.body.parts();
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
    pub(super) fn read(reader: Reader<'_>, row: &impl Columns) -> Result<Self, StoreError> {
        Ok(Self {
            base: reader.maybe(row.number("base"), "base")?,
            position: reader.maybe(row.number("position"), "position")?,
            before: before(reader, row)?,
        })
    }
}

/// What the inbox says of the message already.
fn before(reader: Reader<'_>, row: &impl Columns) -> Result<Option<Before>, StoreError> {
    let seen = reader.maybe(row.number("seen"), "seen")?.unwrap_or_default() != 0;
    if seen { reader.before(row).map(Some) } else { Ok(None) }
}

/// What there is when nothing was written.
pub(super) struct There {
    pub(super) actual: Version,
    pub(super) before: Option<Before>,
    standing: Vec<Standing>,
}

impl There {
    pub(super) fn read(reader: Reader<'_>, rows: &[impl Columns]) -> Result<Self, StoreError> {
        let first = rows.first().ok_or_else(|| no_row(reader))?;
        let actual = Version(reader.need(first.number("actual"), "actual")?);
        let standing = rows.iter().filter_map(|row| reader.standing(row).transpose());
        Ok(Self { actual, before: before(reader, first)?, standing: standing.collect::<Result<_, _>>()? })
    }

    /// Whether the append can still happen as far as the stream is concerned: nothing there speaks against it.
    pub(super) fn is_free(&self, append: &Append) -> bool {
        match append.expected {
            Expected::Any => self.standing.is_empty(),
            Expected::Exact(version) => version == self.actual,
        }
    }

    /// The answer to an append that cannot happen: it has happened before, or the stream has moved, or an id is taken.
    pub(super) fn answer(self, append: &Append) -> Result<AppendAnswer, AppendProblem> {
        not_again(append, self.standing, self.actual)
    }
}

pub(super) fn no_row(reader: Reader<'_>) -> StoreError {
    reader.corrupt("the server answered with no row where there is always one".into())
}
