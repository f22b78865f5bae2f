//! What a message says, to tell whether a message with the same id is the same message.

use std::collections::BTreeMap;

use tenure_core::StoreError;
use tenure_core::outbox::{Body, NewMessage};

use crate::rows::Columns;

/// Headers that say where a message was made and not what it says: a producer that replays has a trace of its own.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];

/// What stands in a row.
pub(super) struct Content {
    source: Option<String>,
    version: i64,
    index: i64,
    topic: Option<String>,
    kind: Option<String>,
    text: Option<String>,
    bytes: Option<Vec<u8>>,
    content_type: Option<String>,
    headers: Option<String>,
}

impl Content {
    pub(super) fn read(row: &impl Columns, store: &str) -> Result<Self, StoreError> {
        let read = || -> Result<Self, String> {
            Ok(Self {
                source: row.text("source")?,
                version: row.number("source_seq")?.unwrap_or_default(),
                index: row.number("source_index")?.unwrap_or_default(),
                topic: row.text("topic")?,
                kind: row.text("type")?,
                text: row.text("payload")?,
                bytes: row.bytes("payload_bytes")?,
                content_type: row.text("content_type")?,
                headers: row.text("headers")?,
            })
        };
        read().map_err(|message| StoreError::Corrupt { store: store.to_owned(), message })
    }

    /// What a message says that is not in a row yet.
    pub(super) fn of(message: &NewMessage) -> Self {
        let (text, bytes) = match &message.body {
            Body::Text(text) => (Some(text.clone()), None),
            Body::Bytes(bytes) => (None, Some(bytes.clone())),
        };
        Self {
            source: message.source.clone(),
            version: message.sequence.version,
            index: message.sequence.index.into(),
            topic: Some(message.topic.clone()),
            kind: Some(message.kind.clone()),
            text,
            bytes,
            content_type: message.content_type.clone(),
            headers: message.headers_json(),
        }
    }

    /// What is different in a message under the same id, if anything is.
    pub(super) fn differs(&self, message: &NewMessage) -> Option<&'static str> {
        let body_is_the_same = match (&message.body, &self.text, &self.bytes) {
            (Body::Text(text), None, None) => text.is_empty(),
            (Body::Text(text), Some(there), None) => text == there,
            (Body::Bytes(bytes), None, Some(there)) => bytes == there,
            _ => false,
        };
        let sequence = &message.sequence;
        let parts = [
            ("source", self.source == message.source),
            ("sequence", (self.version, self.index) == (sequence.version, sequence.index.into())),
            ("topic", self.topic.as_deref() == Some(&message.topic)),
            ("type", self.kind.as_deref() == Some(&message.kind)),
            ("payload", body_is_the_same),
            ("content type", self.content_type == message.content_type),
            ("headers", self.headers_are(&message.headers)),
        ];
        parts.into_iter().find(|(_, same)| !same).map(|(part, _)| part)
    }

    fn headers_are(&self, headers: &BTreeMap<String, String>) -> bool {
        let there: BTreeMap<String, String> = match &self.headers {
            None => BTreeMap::new(),
            Some(text) => match serde_json::from_str(text) {
                Ok(there) => there,
                Err(_) => return false,
            },
        };
        let said = |headers: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            let said = headers.iter().filter(|(name, _)| !TRACE.contains(&name.as_str()));
            said.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        said(&there) == said(headers)
    }
}

/// Messages as lists of columns, in the order of the statement's parameters.
#[derive(Default)]
pub(super) struct Batch<'a> {
    pub(super) ids: Vec<Option<String>>,
    pub(super) sources: Vec<Option<&'a str>>,
    pub(super) versions: Vec<i64>,
    pub(super) indexes: Vec<i32>,
    pub(super) topics: Vec<&'a str>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) texts: Vec<Option<&'a str>>,
    pub(super) bytes: Vec<Option<&'a [u8]>>,
    pub(super) content_types: Vec<Option<&'a str>>,
    pub(super) headers: Vec<Option<String>>,
    pub(super) delays: Vec<i64>,
}

impl<'a> Batch<'a> {
    pub(super) fn of(messages: &'a [NewMessage]) -> Self {
        let mut batch = Self::default();
        for message in messages {
            let (text, bytes) = parts(&message.body);
            batch.ids.push(message.id.map(|id| id.to_string()));
            batch.sources.push(message.source.as_deref());
            batch.versions.push(message.sequence.version);
            batch.indexes.push(message.sequence.index);
            batch.topics.push(&message.topic);
            batch.kinds.push(&message.kind);
            batch.texts.push(text);
            batch.bytes.push(bytes);
            batch.content_types.push(message.content_type.as_deref());
            batch.headers.push(message.headers_json());
            batch.delays.push(crate::rows::micros(message.delay));
        }
        batch
    }
}

/// The payload as text or as bytes.
pub(super) fn parts(body: &Body) -> (Option<&str>, Option<&[u8]>) {
    match body {
        Body::Text(text) => (Some(text), None),
        Body::Bytes(bytes) => (None, Some(bytes)),
    }
}
