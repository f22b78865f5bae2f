//! A message as a CloudEvent: which attributes it has, and how they are written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tenure_core::outbox::{Message, Sequence};

use super::SinkError;

/// The longest `source` of events, in bytes.
const SOURCE_MAX_BYTES: usize = 500;

/// Names of the specification itself. A row sets none of them, nor any that begins with `tenure`.
const RESERVED: &[&str] = &[
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "dataschema",
    "data",
    "database64",
];

/// The `source` of every event that a relay sends: a URI reference by which receivers know who sends. `tenure` by default.
///
/// A message becomes an event with these attributes:
///
/// | attribute | is |
/// |---|---|
/// | `specversion` | `1.0` |
/// | `id` | the message's id |
/// | `source` | this, from the configuration |
/// | `type` | the message's type |
/// | `subject` | the message's topic |
/// | `time` | when it was enqueued |
/// | `datacontenttype` | its content type; by HTTP that is `content-type` |
/// | `tenuresource` | its source, if it has one: events of one source come in order |
/// | `tenureseq` | `version.index` of its place in its source, if it was given one |
/// | `tenureattempt` | the number of this attempt, from 1 |
/// | `tenureterm` | the term of the relay that sends, if it works under a lease |
/// | `traceparent`, `tracestate` | the trace context, if the message has one |
/// | `tenureheaders` | a JSON object of those headers that cannot be attributes, if there are any |
///
/// A header of the message is an attribute of the same name if that is a name in the sense of CloudEvents (`a`–`z`, `0`–`9`)
/// and is not one of the above, nor `dataschema` or `data`, nor begins with `tenure`. All other headers are in
/// `tenureheaders`. So nothing gets lost, and no row can say what the relay has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSource(String);

impl EventSource {
    /// The reference as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for EventSource {
    fn default() -> Self {
        Self("tenure".into())
    }
}

impl fmt::Display for EventSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Takes 1 to 500 of the characters that RFC 3986 has.
impl FromStr for EventSource {
    type Err = SinkError;

    fn from_str(text: &str) -> Result<Self, SinkError> {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b);
        if text.is_empty() || text.len() > SOURCE_MAX_BYTES || !text.bytes().all(known) {
            let message = format!(
                "is no URI reference of 1 to {SOURCE_MAX_BYTES} characters; write for example /shop or https://shop.example"
            );
            return Err(SinkError::BadOption { option: "event source", message });
        }
        Ok(Self(text.to_owned()))
    }
}

/// Passes on all attributes but `datacontenttype`, which each transport has a place for.
pub(super) fn attributes<'a>(
    source: &'a EventSource,
    message: &'a Message,
    mut put: impl FnMut(&'a str, Cow<'a, str>),
) {
    put("specversion", "1.0".into());
    put("id", message.id.to_string().into());
    put("source", source.as_str().into());
    put("type", message.kind.as_str().into());
    put("subject", message.topic.as_str().into());
    let time = message.created_at.to_string();
    // A row may be enqueued at any moment that its database knows; RFC 3339 has the years 0 to 9999.
    if time.len() == "2026-11-15T09:30:00.123Z".len() && !time.starts_with('-') {
        put("time", time.into());
    }
    if let Some(source) = &message.source {
        put("tenuresource", source.as_str().into());
        // Messages that were given no place have none to tell: the same for all would look as if they were old.
        if message.sequence != Sequence::default() {
            put("tenureseq", format!("{}.{}", message.sequence.version, message.sequence.index).into());
        }
    }
    put("tenureattempt", message.attempt.to_string().into());
    if let Some(term) = message.term {
        put("tenureterm", term.to_string().into());
    }
    let mut others = BTreeMap::new();
    for (name, value) in &message.headers {
        match is_free(name) {
            true => put(name, value.as_str().into()),
            false => drop(others.insert(name, value)),
        }
    }
    if !others.is_empty() {
        // A map of strings always is JSON.
        put("tenureheaders", serde_json::to_string(&others).unwrap_or_default().into());
    }
}

/// Whether a row may set the attribute of this name.
fn is_free(name: &str) -> bool {
    let valid = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    valid && !RESERVED.contains(&name) && !name.starts_with("tenure")
}

/// Whether a content type says that the payload is JSON.
pub(super) fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// A content type without its parameters, in lower case.
pub(super) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
