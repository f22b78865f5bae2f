//! A message as a CloudEvent: which attributes it has, and how they are written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{Message, Sequence};

/// The longest `source` of events, in bytes.
const SOURCE_MAX_BYTES: usize = 500;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

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

/// A text is no [`EventSource`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "event source: is no URI reference of 1 to {SOURCE_MAX_BYTES} characters; write for example /shop or https://shop.example"
)]
pub struct BadEventSource;

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
    type Err = BadEventSource;

    fn from_str(text: &str) -> Result<Self, BadEventSource> {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b);
        if text.is_empty() || text.len() > SOURCE_MAX_BYTES || !text.bytes().all(known) {
            return Err(BadEventSource);
        }
        Ok(Self(text.to_owned()))
    }
}

/// Passes on all attributes but `datacontenttype`, which each transport has a place for.
pub fn attributes<'a>(
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
pub fn is_json_type(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// A content type without its parameters, in lower case.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a content type can be sent as it stands, beside an event in binary mode; if not, why.
pub fn check_content_type(text: &str) -> Result<(), String> {
    let shown = || text.chars().flat_map(char::escape_default).collect::<String>();
    if essence(text).starts_with("application/cloudevents") {
        let why = "would make the receiver take the payload for the event";
        return Err(format!("the content type `{}` {why}; send the payload as another type", shown()));
    }
    match text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(format!("the content type `{}` is no header value", shown())),
    }
}

/// A value as CloudEvents' HTTP binding has it, and NATS' after it: percent-encoded are space, `"`, `%`, and the bytes of
/// all that is not visible ASCII.
pub fn percent_encode(value: &str) -> Cow<'_, str> {
    encode_all_but(value, |b| matches!(b, 0x21..=0x7e) && b != b'"' && b != b'%')
}

/// Percent-encodes every byte that is not `plain`. `%` must not be, or two texts could become the same.
pub fn encode_all_but(value: &str, plain: impl Fn(u8) -> bool) -> Cow<'_, str> {
    if value.bytes().all(&plain) {
        return value.into();
    }
    let mut encoded = String::with_capacity(value.len() + 16);
    for b in value.bytes() {
        // A byte beyond ASCII is never plain: alone it is no character.
        if b.is_ascii() && plain(b) {
            encoded.push(b.into());
        } else {
            let digit = |nibble: u8| char::from(HEX[usize::from(nibble)]);
            encoded.extend(['%', digit(b >> 4), digit(b & 15)]);
        }
    }
    encoded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_the_specification_shows() {
        // The example of the specification: Euro € 😀.
        assert_eq!(percent_encode("Euro € 😀"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(percent_encode("a\"b%c\r\nd\u{7f}"), "a%22b%25c%0D%0Ad%7F");
        assert!(matches!(percent_encode("!#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_content_type_is_a_header_value_and_no_event() {
        assert!(check_content_type("application/json; charset=utf-8").is_ok());
        assert!(check_content_type("text/plain\r\nhost: evil").unwrap_err().contains("\\r\\nhost"));
        for event in ["application/cloudevents+json", " Application/CloudEvents-batch+json; a=b"] {
            assert!(check_content_type(event).unwrap_err().contains("take the payload"), "{event}");
        }
    }
}
