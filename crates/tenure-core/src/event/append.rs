//! What is appended, and what may come of it.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Metadata, Position, StreamName, Version};
use crate::id::{NameError, check_name};
use crate::outbox::{
    Accept, Body, Consumer, ENQUEUE_MAX, HEADERS_MAX_BYTES, MessageError, MessageId, NewMessage,
    PAYLOAD_MAX_BYTES, TYPE_MAX_BYTES, is_json,
};

/// The most events of one append.
pub const EVENTS_MAX: usize = 1_000;
/// The most that the payloads of one append may come to, events and dispatches together: 64 MiB.
pub const APPEND_MAX_BYTES: usize = 64 * 1024 * 1024;

/// The longest correlation and causation, in bytes.
const ORIGIN_MAX_BYTES: usize = 250;

/// The version that a stream must have for an append to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it has. Only here the ids of events are what a retry is known by.
    Any,
    /// This one; [`Version::NONE`] means that there must be no event yet.
    Exact(Version),
}

impl Expected {
    /// The stream must have no event yet.
    pub const NONE: Self = Self::Exact(Version::NONE);
}

/// The limits that appends are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest payload of an event, in bytes. 1 MiB.
    pub payload: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload: PAYLOAD_MAX_BYTES }
    }
}

/// An event as it is appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id. A retry of an append has the same ids.
    pub id: Uuid,
    /// What it is.
    pub kind: String,
    /// The version of its type's schema, from 1.
    pub schema: u32,
    /// What it says. Text must be JSON.
    pub body: Body,
    /// Where it comes from.
    pub metadata: Metadata,
}

impl NewEvent {
    /// An event whose payload is JSON.
    pub fn json(id: Uuid, kind: impl Into<String>, payload: impl Into<String>) -> Self {
        let body = Body::Text(payload.into());
        Self { id, kind: kind.into(), schema: 1, body, metadata: Metadata::default() }
    }
}

/// A message's mark in the inbox, made in the transaction of the append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMark {
    /// Who receives.
    pub consumer: Consumer,
    /// The message.
    pub id: MessageId,
    /// What stands for its content.
    pub fingerprint: Option<Uuid>,
    /// Why it is refused for ever; `None` when it takes effect.
    pub refused: Option<String>,
}

/// One append: all of it happens, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The stream.
    pub stream: StreamName,
    /// The version that it must have.
    pub expected: Expected,
    /// What happened. May be empty when there is a mark: a message that changes nothing is remembered too.
    pub events: Vec<NewEvent>,
    /// What is sent.
    pub dispatches: Vec<NewMessage>,
    /// The message that caused all this.
    pub mark: Option<InboxMark>,
}

impl Append {
    /// Appends events, and nothing else.
    pub fn new(stream: StreamName, expected: Expected, events: Vec<NewEvent>) -> Self {
        Self { stream, expected, events, dispatches: Vec::new(), mark: None }
    }

    /// Sends messages along with the events.
    #[must_use]
    pub fn with_dispatches(mut self, dispatches: Vec<NewMessage>) -> Self {
        self.dispatches = dispatches;
        self
    }

    /// Marks the message that caused it.
    #[must_use]
    pub fn with_mark(mut self, mark: InboxMark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Refuses dispatches where nothing would send them.
    pub fn check_outbox(&self, has_outbox: bool) -> Result<(), AppendProblem> {
        match self.dispatches.len() {
            dispatches if dispatches > 0 && !has_outbox => Err(AppendProblem::NoOutbox { dispatches }),
            _ => Ok(()),
        }
    }

    /// Checks everything that can be checked without the store. `has_outbox` says whether dispatches can be sent at all.
    pub fn check(&self, limits: &Limits, has_outbox: bool) -> Result<(), AppendProblem> {
        self.check_outbox(has_outbox)?;
        if self.events.is_empty() && self.dispatches.is_empty() && self.mark.is_none() {
            return Err(AppendProblem::Nothing);
        }
        let refused = self.mark.as_ref().is_some_and(|mark| mark.refused.is_some());
        if refused && !(self.events.is_empty() && self.dispatches.is_empty()) {
            return Err(AppendProblem::RefusedWithEffect);
        }
        if self.events.len() > EVENTS_MAX {
            return Err(AppendProblem::TooMany {
                what: "events",
                count: self.events.len(),
                limit: EVENTS_MAX,
            });
        }
        if self.dispatches.len() > ENQUEUE_MAX {
            let count = self.dispatches.len();
            return Err(AppendProblem::TooMany { what: "dispatches", count, limit: ENQUEUE_MAX });
        }
        if matches!(self.expected, Expected::Exact(Version(version)) if version < 0) {
            return Err(AppendProblem::NegativeVersion);
        }
        let mut ids = HashSet::new();
        for (index, event) in self.events.iter().enumerate() {
            event.check(limits).map_err(|problem| AppendProblem::Event { index, problem })?;
            if !ids.insert(event.id) {
                return Err(AppendProblem::Event { index, problem: EventProblem::SameId { id: event.id } });
            }
        }
        let events = self.events.iter().map(|event| event.body.as_bytes().len());
        let dispatches = self.dispatches.iter().map(|message| message.body.as_bytes().len());
        let bytes: usize = events.chain(dispatches).sum();
        if bytes > APPEND_MAX_BYTES {
            return Err(AppendProblem::TooMany {
                what: "bytes of payload",
                count: bytes,
                limit: APPEND_MAX_BYTES,
            });
        }
        let outbox = crate::outbox::Limits { payload: limits.payload };
        for (index, message) in self.dispatches.iter().enumerate() {
            message.check(&outbox).map_err(|error| AppendProblem::Dispatch { index, error })?;
        }
        Ok(())
    }
}

impl NewEvent {
    fn check(&self, limits: &Limits) -> Result<(), EventProblem> {
        check_name("type", &self.kind, TYPE_MAX_BYTES)?;
        let size = self.body.as_bytes().len();
        if size > limits.payload {
            return Err(EventProblem::TooLarge { size, limit: limits.payload });
        }
        if self.schema == 0 || i32::try_from(self.schema).is_err() {
            return Err(EventProblem::Schema { schema: self.schema });
        }
        if matches!(&self.body, Body::Text(text) if !is_json(text)) {
            return Err(EventProblem::NotJson);
        }
        for (what, text) in
            [("correlation", &self.metadata.correlation), ("causation", &self.metadata.causation)]
        {
            if let Some(text) = text {
                check_name(what, text, ORIGIN_MAX_BYTES)?;
            }
        }
        let headers = self.metadata.headers_json().map_or(0, |headers| headers.len());
        if headers > HEADERS_MAX_BYTES
            || self.metadata.headers.iter().any(|(a, b)| a.contains('\0') || b.contains('\0'))
        {
            return Err(EventProblem::Headers { size: headers, limit: HEADERS_MAX_BYTES });
        }
        Ok(())
    }
}

/// What is wrong with an append, whatever the store holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendProblem {
    /// There are dispatches and nothing that would send them.
    #[error(
        "{dispatches} dispatches cannot be sent: these events were opened without an outbox; open them with one, or \
         leave the dispatches out"
    )]
    NoOutbox {
        /// How many there are.
        dispatches: usize,
    },
    /// There is nothing to append.
    #[error("there is nothing to append: no event, no dispatch and no mark")]
    Nothing,
    /// A message is refused and takes effect.
    #[error(
        "the mark refuses its message, so nothing may happen because of it: leave events and dispatches out"
    )]
    RefusedWithEffect,
    /// There is too much of something.
    #[error("{count} {what} in one append; the limit is {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Versions begin at 0.
    #[error("the expected version is negative")]
    NegativeVersion,
    /// An event cannot be stored.
    #[error("event {index}: {problem}")]
    Event {
        /// Which one, from 0.
        index: usize,
        /// What is wrong with it.
        problem: EventProblem,
    },
    /// A dispatch cannot be sent.
    #[error("dispatch {index}: {error}")]
    Dispatch {
        /// Which one, from 0.
        index: usize,
        /// What is wrong with it.
        error: MessageError,
    },
    /// The id is taken by another event: one that says something else, or of another append.
    #[error("there is an event with the id {id} already, and it is not the one of this append")]
    OtherContent {
        /// The id.
        id: Uuid,
    },
}

/// What is wrong with an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventProblem {
    /// A name cannot be stored.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The payload is above the limit.
    #[error("the payload has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The text is no JSON that a reader could take in.
    #[error(
        "the payload is text and no JSON, or nested deeper than 128 levels; append what is no JSON as bytes"
    )]
    NotJson,
    /// Schemas are numbered from 1.
    #[error("the schema version {schema} is not between 1 and 2147483647")]
    Schema {
        /// What was given.
        schema: u32,
    },
    /// The headers are too large, or hold what no database stores.
    #[error("the headers have {size} bytes as JSON (the limit is {limit}) or hold NUL")]
    Headers {
        /// Their size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// Two events of one append have one id.
    #[error("another event of this append has the id {id} too")]
    SameId {
        /// The id.
        id: Uuid,
    },
}

/// Where an append has led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The stream's version after it.
    pub version: Version,
    /// The position of its last event; `None` when it had none.
    pub position: Option<Position>,
    /// Whether it had happened before: this is a retry, and nothing was written.
    pub repeated: bool,
}

/// The store's answer to an append.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "only an answer of Appended means that it happened"]
pub enum AppendAnswer {
    /// It happened, now or before.
    Appended(Appended),
    /// The stream has another version. Nothing was written.
    Conflict {
        /// The version that it has.
        actual: Version,
    },
    /// The message took effect before. Nothing was written.
    Duplicate,
    /// The message was refused before, for this reason. Nothing was written.
    Refused {
        /// What was said then.
        reason: String,
    },
    /// A message with the same id and another content was seen before. Nothing was written.
    Differs,
}

impl AppendAnswer {
    /// The answer to an append by what the inbox says of its message; `None` when that is fresh.
    pub fn to_settled(accept: Accept) -> Option<Self> {
        match accept {
            Accept::Fresh => None,
            Accept::Duplicate => Some(Self::Duplicate),
            Accept::Refused { reason } => Some(Self::Refused { reason }),
            Accept::Differs => Some(Self::Differs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(payload: &str) -> NewEvent {
        NewEvent::json(Uuid::from_u128(7), "Happened", payload)
    }

    fn append(events: Vec<NewEvent>) -> Append {
        Append::new(StreamName::new("s").unwrap(), Expected::Any, events)
    }

    #[test]
    fn b12_dispatches_without_an_outbox_are_an_error_at_once() {
        let append = append(vec![event("{}")]).with_dispatches(vec![NewMessage::json("t", "k", "{}")]);
        assert_eq!(append.check(&Limits::default(), false), Err(AppendProblem::NoOutbox { dispatches: 1 }));
        assert_eq!(append.check(&Limits::default(), true), Ok(()));
    }

    #[test]
    fn s38_payloads_at_the_limit_pass_and_beyond_it_do_not() {
        let limits = Limits { payload: 4 };
        let size = |payload: &str| append(vec![event(payload)]).check(&limits, true);
        assert_eq!(size("1234"), Ok(()));
        assert!(size("12345").unwrap_err().to_string().contains("5 bytes; the limit is 4"));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(append(vec![event(&deep)]).check(&Limits::default(), true).is_err());
    }

    #[test]
    fn each_thing_that_is_wrong_is_named() {
        let check = |append: &Append| append.check(&Limits::default(), true).unwrap_err().to_string();
        assert!(check(&append(Vec::new())).contains("nothing to append"));
        let twice = append(vec![event("1"), event("2")]);
        assert!(check(&twice).contains("event 1") && check(&twice).contains("has the id"));
        let many = append((0..1001).map(|n| NewEvent { id: Uuid::from_u128(n), ..event("1") }).collect());
        assert!(check(&many).contains("1001 events"));
        assert!(check(&append(vec![event("no json")])).contains("no JSON"));
        assert!(check(&append(vec![NewEvent { schema: 0, ..event("1") }])).contains("schema version 0"));
        assert!(check(&append(vec![NewEvent { kind: "a\nb".into(), ..event("1") }])).contains("event 0"));
        let mark = InboxMark {
            consumer: Consumer::new("c").unwrap(),
            id: Uuid::from_u128(1).into(),
            fingerprint: None,
            refused: Some("no".into()),
        };
        assert!(check(&append(vec![event("1")]).with_mark(mark)).contains("refuses its message"));
        let large = || NewEvent {
            id: Uuid::new_v5(&Uuid::nil(), b"x"),
            body: Body::Bytes(vec![0; 1024 * 1024]),
            ..event("1")
        };
        let heavy = append((0..65).map(|n| NewEvent { id: Uuid::from_u128(n), ..large() }).collect());
        assert!(check(&heavy).contains("bytes of payload"));
        let negative = Append { expected: Expected::Exact(Version(-1)), ..append(vec![event("1")]) };
        assert!(check(&negative).contains("negative"));
    }
}
