//! What a message says, to tell whether a message with the same id is the same message.

use std::collections::BTreeMap;

use super::{Body, MessageError, MessageId, NewMessage};

/// Headers that say where a message was made and not what it says: a producer that replays has a trace of its own.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];

/// What a row with the same id says, as it stands in the table: anyone may have inserted it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Existing {
    /// What orders it.
    pub source: Option<String>,
    /// The source's version.
    pub version: i64,
    /// The index within it, which a column may hold beyond 32 bits.
    pub index: i64,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    pub kind: String,
    /// The payload as text.
    pub payload: Option<String>,
    /// The payload as bytes.
    pub payload_bytes: Option<Vec<u8>>,
    /// What the payload is written in.
    pub content_type: Option<String>,
    /// The headers, which should be an object of JSON.
    pub headers: Option<String>,
}

impl From<&NewMessage> for Existing {
    /// The row that the message becomes.
    fn from(message: &NewMessage) -> Self {
        let (payload, payload_bytes) = message.body.parts();
        Self {
            source: message.source.clone(),
            version: message.sequence.version,
            index: message.sequence.index.into(),
            topic: message.topic.clone(),
            kind: message.kind.clone(),
            payload: payload.map(str::to_owned),
            payload_bytes: payload_bytes.map(<[u8]>::to_vec),
            content_type: message.content_type.clone(),
            headers: message.headers_json(),
        }
    }
}

impl NewMessage {
    /// Refuses to take this message for the one that has its id, if that says something else.
    pub fn is_same(&self, id: MessageId, existing: &Existing) -> Result<(), MessageError> {
        match self.differs_from(existing) {
            None => Ok(()),
            Some(differs) => Err(MessageError::Conflict { id, differs }),
        }
    }

    /// What this message says otherwise than the row that has its id; `None` when it is the same message. Delay and trace
    /// context are no part of what a message says.
    pub fn differs_from(&self, existing: &Existing) -> Option<&'static str> {
        let same_body = match (&self.body, &existing.payload, &existing.payload_bytes) {
            (Body::Text(text), None, None) => text.is_empty(),
            (Body::Text(text), Some(there), None) => text == there,
            (Body::Bytes(bytes), None, Some(there)) => bytes == there,
            _ => false,
        };
        let place = (self.sequence.version, i64::from(self.sequence.index));
        let parts = [
            ("source", self.source == existing.source),
            ("sequence", place == (existing.version, existing.index)),
            ("topic", self.topic == existing.topic),
            ("type", self.kind == existing.kind),
            ("payload", same_body),
            ("content type", self.content_type == existing.content_type),
            ("headers", same_headers(&self.headers, existing.headers.as_deref())),
        ];
        parts.into_iter().find(|(_, same)| !same).map(|(part, _)| part)
    }
}

fn same_headers(headers: &BTreeMap<String, String>, existing: Option<&str>) -> bool {
    let existing: BTreeMap<String, String> = match existing.map(serde_json::from_str) {
        None => BTreeMap::new(),
        Some(Ok(existing)) => existing,
        Some(Err(_)) => return false,
    };
    said(headers).eq(said(&existing))
}

fn said(headers: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    headers.iter().filter(|(name, _)| !TRACE.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outbox::Sequence;

    #[test]
    fn s46_whatever_differs_is_named() {
        let message = NewMessage::json("t", "k", "{}").from_source("s").with_header("a", "b");
        let there = Existing::from(&message);
        assert_eq!(message.differs_from(&there), None);
        assert_eq!(message.clone().delayed(Duration::from_secs(1)).differs_from(&there), None);
        let others = [
            ("source", NewMessage { source: None, ..message.clone() }),
            ("sequence", NewMessage { sequence: Sequence { version: 1, index: 0 }, ..message.clone() }),
            ("sequence", NewMessage { sequence: Sequence { version: 0, index: 1 }, ..message.clone() }),
            ("topic", NewMessage { topic: "T".into(), ..message.clone() }),
            ("type", NewMessage { kind: "K".into(), ..message.clone() }),
            ("payload", NewMessage { body: Body::Text("[]".into()), ..message.clone() }),
            ("payload", NewMessage { body: Body::Bytes(b"{}".to_vec()), ..message.clone() }),
            ("content type", NewMessage { content_type: None, ..message.clone() }),
            ("headers", message.clone().with_header("a", "c")),
            ("headers", message.clone().with_header("b", "c")),
        ];
        for (part, other) in others {
            assert_eq!(other.differs_from(&there), Some(part));
        }
    }

    #[test]
    fn s46_a_replay_with_another_trace_is_the_same_message() {
        let message = NewMessage::json("t", "k", "{}").with_header("a", "b");
        let traced = |span: &str| message.clone().with_trace(span, Some(format!("vendor={span}")));
        let there = Existing::from(&traced("00-1-2-01"));
        assert_eq!(traced("00-3-4-01").differs_from(&there), None);
        assert_eq!(message.differs_from(&there), None);
        let spaced = Existing { headers: Some("{ \"a\" : \"b\" }".into()), ..there.clone() };
        assert_eq!(message.differs_from(&spaced), None, "what counts is what the headers say");
        let garbage = Existing { headers: Some("[".into()), ..there };
        assert_eq!(message.differs_from(&garbage), Some("headers"));
    }

    #[test]
    fn no_payload_at_all_is_an_empty_text() {
        let empty = NewMessage::new("t", "k", Body::Text(String::new()));
        let there = Existing { payload: None, ..Existing::from(&empty) };
        assert_eq!(empty.differs_from(&there), None);
        let both = Existing { payload: Some(String::new()), payload_bytes: Some(Vec::new()), ..there };
        assert_eq!(empty.differs_from(&both), Some("payload"));
    }
}
