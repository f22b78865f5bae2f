//! A message in a list, and all about one.

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, any, list_of, maybe, number, object, text, truth, whole, word};
use crate::outbox::{Attempt, Details, Kind, State, Summary};

/// A message in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MessageShape {
    /// How many attempts were made.
    pub attempts: u32,
    /// When it was enqueued.
    pub created_at: String,
    /// When it is due, while it is pending.
    pub due_at: Option<String>,
    /// When it was dispatched, given up or discarded.
    pub finished_at: Option<String>,
    /// Whether its source stands still because of it.
    pub halts: bool,
    /// Its id, as it stands in the row.
    pub id: String,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// The row's number, for the next page.
    pub row: i64,
    /// What orders it.
    pub source: Option<String>,
    /// Where it stands among messages of one number.
    pub source_index: i32,
    /// Its number in its source.
    pub source_seq: i64,
    /// Where it stands.
    pub state: State,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
}

impl From<&Summary> for MessageShape {
    fn from(message: &Summary) -> Self {
        Self {
            attempts: message.attempts,
            created_at: message.created_at.to_string(),
            due_at: super::text(message.due_at),
            finished_at: super::text(message.finished_at),
            halts: message.halts,
            id: message.id.clone(),
            last_error: message.last_error.clone(),
            row: message.row.0,
            source: message.source.clone(),
            source_index: message.sequence.index,
            source_seq: message.sequence.version,
            state: message.state,
            topic: message.topic.clone(),
            kind: message.kind.clone(),
        }
    }
}

fn message_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("attempts", whole()),
        ("created_at", text()),
        ("due_at", maybe(text())),
        ("finished_at", maybe(text())),
        ("halts", truth()),
        ("id", text()),
        ("last_error", maybe(text())),
        ("row", whole()),
        ("source", maybe(text())),
        ("source_index", whole()),
        ("source_seq", whole()),
        ("state", word(&State::ALL.map(State::as_str))),
        ("topic", text()),
        ("type", text()),
    ]
}

impl Shape for MessageShape {
    const NAME: &'static str = "Message";
    fn schema() -> Value {
        object(message_fields())
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptShape {
    /// When it ended.
    pub at: String,
    /// What went wrong.
    pub error: Option<String>,
    /// The node that made it.
    pub node: String,
    /// Its number, from 1.
    pub number: u32,
    /// How it ended.
    pub outcome: Kind,
    /// The node's term, where it worked under a lease.
    pub term: Option<u64>,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
}

impl From<&Attempt> for AttemptShape {
    fn from(attempt: &Attempt) -> Self {
        Self {
            at: attempt.at.to_string(),
            error: attempt.error.clone(),
            node: attempt.node.clone(),
            number: attempt.number,
            outcome: attempt.outcome,
            term: attempt.term,
            took_ms: attempt.took_us as f64 / 1000.0,
        }
    }
}

impl Shape for AttemptShape {
    const NAME: &'static str = "Attempt";
    fn schema() -> Value {
        object(vec![
            ("at", text()),
            ("error", maybe(text())),
            ("node", text()),
            ("number", whole()),
            ("outcome", word(&Kind::ALL.map(Kind::as_str))),
            ("term", maybe(whole())),
            ("took_ms", number()),
        ])
    }
}

/// All about one message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageDetails {
    /// How many attempts were made.
    pub attempts: u32,
    /// What the payload is written in.
    pub content_type: Option<String>,
    /// When it was enqueued.
    pub created_at: String,
    /// When it is due, while it is pending.
    pub due_at: Option<String>,
    /// When it was dispatched, given up or discarded.
    pub finished_at: Option<String>,
    /// Whether its source stands still because of it.
    pub halts: bool,
    /// Its headers: an object where they are one, else the text that stands in the row.
    pub headers: Value,
    /// Every attempt, the first one first.
    pub history: Vec<AttemptShape>,
    /// Its id, as it stands in the row.
    pub id: String,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// Its payload, or the beginning of it: as text, or as hexadecimal digits.
    pub payload: Option<String>,
    /// How many bytes the whole payload has.
    pub payload_bytes: u64,
    /// Whether there is more of the payload than is told.
    pub payload_cut: bool,
    /// Whether the one who asks may not see the payload. Not told when he may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub payload_hidden: bool,
    /// Whether the payload is told as hexadecimal digits.
    pub payload_is_hex: bool,
    /// The row's number.
    pub row: i64,
    /// What orders it.
    pub source: Option<String>,
    /// Where it stands among messages of one number.
    pub source_index: i32,
    /// Its number in its source.
    pub source_seq: i64,
    /// Where it stands.
    pub state: State,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
}

impl MessageDetails {
    /// All about a message, with at most so many bytes of its payload.
    pub fn of(details: &Details, payload_max: usize) -> Self {
        let MessageShape {
            attempts,
            created_at,
            due_at,
            finished_at,
            halts,
            id,
            last_error,
            row,
            source,
            source_index,
            source_seq,
            state,
            topic,
            kind,
        } = MessageShape::from(&details.summary);
        let (payload, payload_cut) = payload_text(details, payload_max);
        let headers = details.headers.as_deref();
        let headers = headers.map_or(Value::Null, |text| {
            serde_json::from_str(text).unwrap_or_else(|_| text.to_owned().into())
        });
        Self {
            attempts,
            content_type: details.content_type.clone(),
            created_at,
            due_at,
            finished_at,
            halts,
            headers,
            history: details.attempts.iter().map(AttemptShape::from).collect(),
            id,
            last_error,
            payload,
            payload_bytes: details.payload_bytes,
            payload_cut,
            payload_hidden: false,
            payload_is_hex: details.payload.is_some() && !details.is_text,
            row,
            source,
            source_index,
            source_seq,
            state,
            topic,
            kind,
        }
    }

    /// The same for someone who may not see what the message says: without payload and headers.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { headers: Value::Null, payload: None, payload_cut: false, payload_hidden: true, ..self }
    }
}

/// At most so many bytes of a payload, as text or as hexadecimal digits, and whether there is more; `None` when there is no
/// payload.
pub fn payload_text(details: &Details, payload_max: usize) -> (Option<String>, bool) {
    let Some(bytes) = &details.payload else { return (None, false) };
    let (text, cut) = shown(bytes, details.is_text, payload_max);
    // The store may have read only the beginning.
    (Some(text), cut || details.payload_bytes > bytes.len() as u64)
}

/// At most so many bytes, as text or as hexadecimal digits, and whether there is more.
pub(super) fn shown(bytes: &[u8], is_text: bool, max: usize) -> (String, bool) {
    let beginning = &bytes[..bytes.len().min(max)];
    let text = match is_text {
        true => String::from_utf8_lossy(beginning).into_owned(),
        false => beginning.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    (text, bytes.len() > max)
}

impl Shape for MessageDetails {
    const NAME: &'static str = "MessageDetails";
    const MAY_LACK: &'static [&'static str] = &["payload_hidden"];
    fn schema() -> Value {
        let more = vec![
            ("content_type", maybe(text())),
            ("headers", any()),
            ("history", list_of::<AttemptShape>()),
            ("payload", maybe(text())),
            ("payload_bytes", whole()),
            ("payload_cut", truth()),
            ("payload_hidden", truth()),
            ("payload_is_hex", truth()),
        ];
        object(message_fields().into_iter().chain(more).collect())
    }
}
