//! From a row that anyone may have inserted to a message that can be delivered, or the reason why not.

use std::collections::BTreeMap;

use super::message::{check_header, claims_json, is_json};
use super::{
    Body, Found, HEADERS_MAX_BYTES, Limits, Message, MessageId, SOURCE_MAX_BYTES, Stored, TOPIC_MAX_BYTES,
    TYPE_MAX_BYTES,
};
use crate::id::check_name;

/// Why a row can never be delivered: for people to read. Such a row is dead at once, and the rest flows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Poison(pub String);

/// How long a UUID is where it is written as 8-4-4-4-12 digits.
const ID_BYTES: usize = 36;

/// Reads an id. In one form only: where ids are kept as texts, one in two forms would be two messages, and a receiver would take
/// the second for the first.
fn message_id(text: &str) -> Result<MessageId, Poison> {
    let why = match text.parse() {
        Ok(id) if text.len() == ID_BYTES => return Ok(id),
        Ok(_) => "is not written as UUIDs are: with hyphens, as 8-4-4-4-12 digits",
        Err(_) => "is not a UUID",
    };
    let told = format!("the message_id `{}` {why}", text.escape_default());
    Err(Poison(told.chars().take(200).collect()))
}

/// Reads a row. A large payload has been loaded before.
pub fn decode(row: Stored, limits: &Limits, term: Option<u64>) -> Result<Message, Poison> {
    let id = message_id(&row.message_id)?;
    let wrong = |error: crate::id::NameError| Poison(error.to_string());
    check_name("topic", &row.topic, TOPIC_MAX_BYTES).map_err(wrong)?;
    check_name("type", &row.kind, TYPE_MAX_BYTES).map_err(wrong)?;
    if let Some(source) = &row.source {
        check_name("source", source, SOURCE_MAX_BYTES).map_err(wrong)?;
    }
    if let Some(content_type) = &row.content_type {
        check_name("content type", content_type, TYPE_MAX_BYTES).map_err(wrong)?;
    }
    let body = match row.body {
        Found::Body(body) => body,
        Found::Large => return Err(Poison("the payload was not loaded".into())),
        Found::Unclear(what) => return Err(Poison(what.into())),
    };
    check_body(&body, row.content_type.as_deref(), limits)?;
    Ok(Message {
        id,
        source: row.source,
        sequence: row.sequence,
        topic: row.topic,
        kind: row.kind,
        body,
        content_type: row.content_type,
        headers: row.headers.as_deref().map_or(Ok(BTreeMap::new()), headers)?,
        created_at: row.created_at,
        attempt: row.attempts.saturating_add(1),
        term,
    })
}

fn check_body(body: &Body, content_type: Option<&str>, limits: &Limits) -> Result<(), Poison> {
    let bytes = body.as_bytes().len();
    if bytes > limits.payload {
        return Err(too_large(bytes, limits));
    }
    let Body::Text(text) = body else { return Ok(()) };
    if text.contains('\0') {
        return Err(Poison("the payload's text holds a NUL; insert it as payload_bytes".into()));
    }
    match content_type.is_some_and(claims_json) && !is_json(text) {
        true => Err(Poison("the content type says JSON, but the payload is none".into())),
        false => Ok(()),
    }
}

/// Why a payload above the limit is not delivered.
pub(super) fn too_large(bytes: usize, limits: &Limits) -> Poison {
    Poison(format!("the payload has {bytes} bytes; the relay's limit is {}", limits.payload))
}

fn headers(text: &str) -> Result<BTreeMap<String, String>, Poison> {
    if text.len() > HEADERS_MAX_BYTES {
        return Err(Poison(format!(
            "the headers have {} bytes; the limit is {HEADERS_MAX_BYTES}",
            text.len()
        )));
    }
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).map_err(|_| Poison("the headers are no object of JSON".into()))?;
    let mut headers = BTreeMap::new();
    for (name, value) in object {
        let value = match value {
            serde_json::Value::String(text) => text,
            // What a program in another language may well write: {"tries": 3, "urgent": true}.
            serde_json::Value::Number(number) => number.to_string(),
            serde_json::Value::Bool(yes) => yes.to_string(),
            _ => {
                return Err(Poison(format!(
                    "the header `{}` is neither text, number nor boolean",
                    name.escape_default()
                )));
            }
        };
        check_header(&name, &value).map_err(|error| Poison(error.to_string()))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outbox::{RowId, Sequence};
    use crate::time::StoreTime;

    fn row() -> Stored {
        Stored {
            id: RowId(1),
            message_id: "470831a4-832f-5e77-b6eb-b9d970179689".into(),
            ordered: true,
            source: Some("order-7".into()),
            sequence: Sequence::default(),
            topic: "orders".into(),
            kind: "OrderPlaced".into(),
            body: Found::Body(Body::Text("{}".into())),
            content_type: None,
            headers: Some(r#"{"a":"b","n":3,"yes":true}"#.into()),
            created_at: StoreTime::from_micros(0),
            due_at: StoreTime::from_micros(0),
            attempts: 2,
            forgiven: 0,
        }
    }

    fn reason(change: impl FnOnce(&mut Stored)) -> String {
        let mut row = row();
        change(&mut row);
        decode(row, &Limits { payload: 10 }, None).unwrap_err().to_string()
    }

    #[test]
    fn a_good_row_becomes_the_next_attempt() {
        let message = decode(row(), &Limits::default(), Some(7)).unwrap();
        assert_eq!((message.attempt, message.term), (3, Some(7)));
        assert_eq!(message.headers["n"], "3");
        assert_eq!(message.headers["yes"], "true");
    }

    #[test]
    fn s43_a_row_that_cannot_be_read_says_why() {
        assert!(reason(|row| row.message_id = "7".into()).contains("`7` is not a UUID"));
        for other in [
            "470831a4832f5e77b6ebb9d970179689",
            "{470831a4-832f-5e77-b6eb-b9d970179689}",
            "urn:uuid:470831a4-832f-5e77-b6eb-b9d970179689",
        ] {
            assert!(reason(|row| row.message_id = other.into()).contains("with hyphens"), "{other}");
        }
        assert!(reason(|row| row.topic = String::new()).contains("topic is empty"));
        assert!(reason(|row| row.kind = "x\u{1}".into()).contains("type holds"));
        assert!(reason(|row| row.source = Some("s".repeat(501))).contains("501 bytes"));
        assert!(reason(|row| row.headers = Some("[]".into())).contains("no object"));
        assert!(reason(|row| row.headers = Some("{\"a\":{}}".into())).contains("`a`"));
        assert!(reason(|row| row.headers = Some("{\"a\":\"\\n\"}".into())).contains("control"));
        assert!(reason(|row| row.body = Found::Unclear("two payloads")).contains("two payloads"));
        assert!(reason(|row| row.body = Found::Body(Body::Bytes(vec![0; 11]))).contains("11 bytes"));
        assert!(reason(|row| row.body = Found::Body(Body::Text("a\0".into()))).contains("NUL"));
        assert!(
            reason(|row| {
                row.content_type = Some("application/json".into());
                row.body = Found::Body(Body::Text("{".into()));
            })
            .contains("says JSON")
        );
    }

    proptest! {
        #[test]
        fn no_row_makes_it_panic(
            message_id in ".*", topic in ".*", kind in ".*", headers in proptest::option::of(".*"), text in ".*",
            content_type in proptest::option::of(".*"), source in proptest::option::of(".*"),
        ) {
            let body = Found::Body(Body::Text(text));
            let row = Stored { message_id, topic, kind, headers, body, content_type, source, ..row() };
            if let Err(poison) = decode(row, &Limits::default(), None) {
                prop_assert!(!poison.0.is_empty());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            headers in prop_oneof!["\\PC{0,80}", "\\{(\"[a-z]{0,3}\":(\"[^\"]{0,9}\"|[0-9]{1,30}|null|\\[\\]),?){0,4}\\}?", "\\[{1,2000}"],
            content_type in proptest::option::of(prop_oneof![Just("application/json".to_owned()), "\\PC{0,40}".boxed()]),
            is_text in any::<bool>(),
        ) {
            let body = match is_text {
                true => Body::Text(String::from_utf8_lossy(&bytes).into_owned()),
                false => Body::Bytes(bytes),
            };
            let row = Stored { headers: Some(headers), body: Found::Body(body), content_type, ..row() };
            if let Err(poison) = decode(row, &Limits::default(), None) {
                prop_assert!(!poison.0.is_empty());
            }
        }
    }
}
