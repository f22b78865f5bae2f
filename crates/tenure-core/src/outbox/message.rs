//! What is sent: a message as the user makes it, and as the relay reads it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::MessageId;
use crate::id::{NameError, check_name};
use crate::time::StoreTime;

/// The longest source, in bytes.
pub const SOURCE_MAX_BYTES: usize = 500;
/// The longest topic, in bytes.
pub const TOPIC_MAX_BYTES: usize = 250;
/// The longest type, in bytes.
pub const TYPE_MAX_BYTES: usize = 250;
/// The largest payload unless the user says otherwise: 1 MiB.
pub const PAYLOAD_MAX_BYTES: usize = 1024 * 1024;
/// The largest headers of a message, as JSON.
pub const HEADERS_MAX_BYTES: usize = 64 * 1024;
/// The most messages in one call of enqueue.
pub const ENQUEUE_MAX: usize = 10_000;
/// The longest delay: ten years.
const DELAY_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

/// The payload: text, which JSON is, or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text in UTF-8.
    Text(String),
    /// Anything.
    Bytes(Vec<u8>),
}

impl Body {
    /// The payload's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The payload as text or as bytes: the two columns that hold it.
    pub fn parts(&self) -> (Option<&str>, Option<&[u8]>) {
        match self {
            Self::Text(text) => (Some(text), None),
            Self::Bytes(bytes) => (None, Some(bytes)),
        }
    }

    /// The content type of a payload whose sender gave none: what it looks like.
    pub fn guessed_type(&self) -> &'static str {
        match self {
            Self::Text(text) if is_json(text) => "application/json",
            Self::Text(_) => "text/plain; charset=utf-8",
            Self::Bytes(_) => "application/octet-stream",
        }
    }
}

/// How deep JSON may be nested: what most parsers of receivers accept.
const JSON_DEPTH_MAX: usize = 128;

/// Whether a text is JSON that a receiver can read.
pub(crate) fn is_json(text: &str) -> bool {
    // Whoever enqueues waits for this: so few brackets cannot be nested too deep, and are counted many at a time.
    let shallow = openings(text) <= JSON_DEPTH_MAX || depth(text) <= JSON_DEPTH_MAX;
    shallow && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// How many opening brackets there are, inside of strings too.
fn openings(text: &str) -> usize {
    // So few at a time that their number fits into a byte, as compilers like it.
    let in_some = |some: &[u8]| some.iter().map(|byte| u8::from(matches!(byte, b'[' | b'{'))).sum::<u8>();
    text.as_bytes().chunks(255).map(|some| usize::from(in_some(some))).sum()
}

/// How deep brackets are nested outside of strings.
fn depth(text: &str) -> usize {
    let (mut deepest, mut open, mut quoted, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Where a message stands in its source: the version of what sent it, and the index within that version. Messages with
/// equal sequences, such as all that were given none, are ordered by their insertion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Sequence {
    /// The source's version.
    pub version: i64,
    /// The index within it.
    pub index: i32,
}

/// The limits that a message is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest payload, in bytes. 1 MiB.
    pub payload: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload: PAYLOAD_MAX_BYTES }
    }
}

/// A message as it is enqueued.
///
/// ```
/// use tenure_core::outbox::NewMessage;
///
/// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
/// assert!(message.check(&Default::default()).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The id; `None` lets the store choose one by chance.
    pub id: Option<MessageId>,
    /// What orders it; `None` for a message that is delivered whenever.
    pub source: Option<String>,
    /// Where it stands in its source.
    pub sequence: Sequence,
    /// Where it goes: the receiver's word.
    pub topic: String,
    /// What it is.
    pub kind: String,
    /// What it says.
    pub body: Body,
    /// What the payload is written in; `None` lets the relay see by itself.
    pub content_type: Option<String>,
    /// Further words for the receiver. `traceparent` and `tracestate` carry the trace context.
    pub headers: BTreeMap<String, String>,
    /// How long to hold it back after it was enqueued. In an ordered source, what follows it waits with it.
    pub delay: Duration,
}

impl NewMessage {
    /// A message whose payload is JSON.
    pub fn json(topic: impl Into<String>, kind: impl Into<String>, payload: impl Into<String>) -> Self {
        let mut message = Self::new(topic, kind, Body::Text(payload.into()));
        message.content_type = Some("application/json".into());
        message
    }

    /// A message whose payload is bytes of the given content type.
    pub fn bytes(
        topic: impl Into<String>,
        kind: impl Into<String>,
        content_type: impl Into<String>,
        payload: impl Into<Vec<u8>>,
    ) -> Self {
        let mut message = Self::new(topic, kind, Body::Bytes(payload.into()));
        message.content_type = Some(content_type.into());
        message
    }

    /// A message with nothing but what every message has.
    pub fn new(topic: impl Into<String>, kind: impl Into<String>, body: Body) -> Self {
        Self {
            id: None,
            source: None,
            sequence: Sequence::default(),
            topic: topic.into(),
            kind: kind.into(),
            body,
            content_type: None,
            headers: BTreeMap::new(),
            delay: Duration::ZERO,
        }
    }

    /// Orders it after all earlier messages of `source`.
    #[must_use]
    pub fn from_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Gives it the place `(version, index)` in `source`, and the id that goes with that place: enqueueing it again, as
    /// a producer does that replays, inserts nothing.
    #[must_use]
    pub fn from_version(mut self, source: impl Into<String>, version: i64, index: i32) -> Self {
        let source = source.into();
        self.id = Some(super::deterministic_id(&source, version, index));
        self.source = Some(source);
        self.sequence = Sequence { version, index };
        self
    }

    /// Gives it an id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Stores the W3C trace context with it, for the receiver to continue.
    #[must_use]
    pub fn with_trace(mut self, traceparent: impl Into<String>, tracestate: Option<String>) -> Self {
        self.headers.insert("traceparent".into(), traceparent.into());
        if let Some(tracestate) = tracestate {
            self.headers.insert("tracestate".into(), tracestate);
        }
        self
    }

    /// Holds it back for a while.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The headers as the row holds them; `None` when there are none.
    pub fn headers_json(&self) -> Option<String> {
        // A map of strings always is JSON.
        (!self.headers.is_empty()).then(|| serde_json::to_string(&self.headers).unwrap_or_default())
    }

    /// Checks everything that can be checked of several before the database sees them.
    pub fn check_all(messages: &[Self], limits: &Limits) -> Result<(), MessageError> {
        if messages.len() > ENQUEUE_MAX {
            return Err(MessageError::TooMany { count: messages.len(), limit: ENQUEUE_MAX });
        }
        messages.iter().try_for_each(|message| message.check(limits))
    }

    /// Checks everything that can be checked before the database sees it.
    pub fn check(&self, limits: &Limits) -> Result<(), MessageError> {
        check_name("topic", &self.topic, TOPIC_MAX_BYTES)?;
        check_name("type", &self.kind, TYPE_MAX_BYTES)?;
        if let Some(source) = &self.source {
            check_name("source", source, SOURCE_MAX_BYTES)?;
        }
        if let Some(content_type) = &self.content_type {
            check_name("content type", content_type, TYPE_MAX_BYTES)?;
        }
        let bytes = self.body.as_bytes().len();
        if bytes > limits.payload {
            return Err(MessageError::PayloadTooLarge { bytes, limit: limits.payload });
        }
        if let Body::Text(text) = &self.body {
            if let Some(at) = text.find('\0') {
                return Err(MessageError::Nul { at });
            }
            if self.content_type.as_deref().is_some_and(claims_json) && !is_json(text) {
                return Err(MessageError::NotJson);
            }
        }
        for (name, value) in &self.headers {
            check_header(name, value)?;
        }
        let bytes = self.headers_json().map_or(0, |json| json.len());
        if bytes > HEADERS_MAX_BYTES {
            return Err(MessageError::HeadersTooLarge { bytes, limit: HEADERS_MAX_BYTES });
        }
        if self.delay > DELAY_MAX {
            return Err(MessageError::DelayTooLong { delay: self.delay });
        }
        Ok(())
    }
}

/// Whether a content type says that the payload is JSON.
pub(super) fn claims_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let is = |what: &str| essence.eq_ignore_ascii_case(what);
    let ending = essence.len().checked_sub("+json".len()).and_then(|at| essence.get(at..));
    is("application/json")
        || is("text/json")
        || ending.is_some_and(|ending| ending.eq_ignore_ascii_case("+json"))
}

/// A header is a word of visible ASCII, and a value without control characters: what every transport can carry.
pub(super) fn check_header(name: &str, value: &str) -> Result<(), MessageError> {
    let word = !name.is_empty()
        && name.len() <= 100
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !word {
        let name = name.chars().take(60).flat_map(char::escape_default).collect();
        return Err(MessageError::HeaderName { name });
    }
    match value.chars().any(char::is_control) {
        true => Err(MessageError::HeaderValue { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// Why a message was not enqueued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A topic, type, source or content type cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The payload is above the limit.
    #[error(
        "the payload has {bytes} bytes; the limit is {limit}; send a reference to what is larger, or raise the limit"
    )]
    PayloadTooLarge {
        /// Its size.
        bytes: usize,
        /// The largest that is accepted.
        limit: usize,
    },
    /// The payload's text holds a NUL.
    #[error("the payload's text holds a NUL at byte {at}; send it as bytes")]
    Nul {
        /// Where.
        at: usize,
    },
    /// The content type says JSON, the payload is none.
    #[error(
        "the content type says JSON, but the payload is none; correct it, or give it another content type"
    )]
    NotJson,
    /// A header's name cannot be used.
    #[error("the header name `{name}` is not of the form [A-Za-z0-9._-]+ with at most 100 characters")]
    HeaderName {
        /// The name, shortened.
        name: String,
    },
    /// A header's value cannot be used.
    #[error("the value of the header `{name}` holds a control character")]
    HeaderValue {
        /// The header.
        name: String,
    },
    /// The headers are above the limit.
    #[error("the headers have {bytes} bytes as JSON; the limit is {limit}")]
    HeadersTooLarge {
        /// Their size.
        bytes: usize,
        /// The largest that is accepted.
        limit: usize,
    },
    /// The delay is above the limit.
    #[error("the delay {delay:?} is above ten years")]
    DelayTooLong {
        /// The delay.
        delay: Duration,
    },
    /// Too many messages at once.
    #[error("{count} messages at once are above the limit of {limit}; enqueue them in several calls")]
    TooMany {
        /// How many.
        count: usize,
        /// The most that are accepted.
        limit: usize,
    },
    /// There is a message with this id, and it says something else.
    #[error(
        "a message with the id {id} is there already, with another {differs}; an id stands for one content for ever"
    )]
    Conflict {
        /// The id.
        id: MessageId,
        /// What differs.
        differs: &'static str,
    },
}

/// What came of enqueueing a message. It counts once the transaction has committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Enqueued {
    /// The message's id.
    pub id: MessageId,
    /// Whether it is new; false when the same message was there already.
    pub fresh: bool,
}

impl AsRef<[Self]> for Enqueued {
    /// One among several.
    fn as_ref(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
}

/// A message as it is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The id by which the receiver knows it again.
    pub id: MessageId,
    /// What orders it.
    pub source: Option<String>,
    /// Where it stands in its source.
    pub sequence: Sequence,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    pub kind: String,
    /// What it says.
    pub body: Body,
    /// What the sender said that the payload is written in.
    pub content_type: Option<String>,
    /// Further words for the receiver.
    pub headers: BTreeMap<String, String>,
    /// When it was enqueued.
    pub created_at: StoreTime,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// The term of the relay that delivers it, where it works under a lease.
    pub term: Option<u64>,
}

impl Message {
    /// What the payload is written in: what the sender said, else what it looks like.
    pub fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or_else(|| self.body.guessed_type())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(message: &NewMessage) -> String {
        message.check(&Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn s38_a_payload_at_the_limit_passes_and_one_byte_more_does_not() {
        let limits = Limits { payload: 10 };
        let of = |bytes: usize| NewMessage::bytes("t", "k", "x/y", vec![0; bytes]).check(&limits);
        assert_eq!(of(10), Ok(()));
        assert_eq!(of(11), Err(MessageError::PayloadTooLarge { bytes: 11, limit: 10 }));
    }

    #[test]
    fn s38_json_that_is_none_or_too_deep_is_refused() {
        assert!(refusal(&NewMessage::json("t", "k", "{")).contains("JSON"));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(refusal(&NewMessage::json("t", "k", deep)).contains("JSON"));
        let flat = r#"["[[[", "\"[", {"a": "}"}]"#;
        assert_eq!(depth(flat), 2);
        assert!(is_json(flat));
        let nested = |deep: usize| format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        assert!(is_json(&nested(128)) && !is_json(&nested(129)));
        let wide = format!("[{}[]]", "[],".repeat(400));
        assert!(is_json(&wide), "many brackets, none of them deep");
        assert_eq!(openings(&wide), 402);
    }

    #[test]
    fn hostile_names_and_headers_are_refused_with_what_and_where() {
        let good = NewMessage::json("t", "k", "{}");
        assert!(refusal(&NewMessage { topic: "".into(), ..good.clone() }).contains("topic is empty"));
        assert!(refusal(&NewMessage { kind: "a\nb".into(), ..good.clone() }).contains("type holds"));
        assert!(refusal(&good.clone().from_source("s".repeat(501))).contains("501 bytes"));
        assert!(refusal(&good.clone().from_source("a\0")).contains("U+0000"));
        assert!(refusal(&good.clone().with_header("a b", "x")).contains("a b"));
        assert!(refusal(&good.clone().with_header("a", "x\r\ny: z")).contains("`a`"));
        let long = "v".repeat(HEADERS_MAX_BYTES);
        assert!(refusal(&good.clone().with_header("a", long)).contains("limit"));
        assert!(refusal(&NewMessage::new("t", "k", Body::Text("a\0b".into()))).contains("byte 1"));
        assert!(refusal(&good.delayed(Duration::MAX)).contains("ten years"));
    }

    #[test]
    fn a_payload_without_a_content_type_is_what_it_looks_like() {
        assert_eq!(Body::Text("{\"a\": 1}".into()).guessed_type(), "application/json");
        assert_eq!(Body::Text("hello".into()).guessed_type(), "text/plain; charset=utf-8");
        assert_eq!(Body::Bytes(vec![1]).guessed_type(), "application/octet-stream");
        for json in [
            "application/json",
            " Application/JSON ; a=b",
            "text/json",
            "application/cloudevents+JSON; charset=utf-8",
        ] {
            assert!(claims_json(json), "{json}");
        }
        for other in ["", "json", "text/plain", "text/plain; a=+json", "application/jsonp", "x/\u{e4}json"] {
            assert!(!claims_json(other), "{other}");
        }
    }
}
