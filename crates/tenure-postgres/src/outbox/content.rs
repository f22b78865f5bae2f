//! What a message says, as it stands in a row and as the statement's parameters carry it.

use tenure_core::StoreError;
use tenure_core::outbox::{Body, Existing, NewMessage};

use crate::rows::Columns;

/// What a row says that is there already.
pub(crate) fn existing(row: &impl Columns, store: &str) -> Result<Existing, StoreError> {
    let read = || -> Result<Existing, String> {
        Ok(Existing {
            source: row.text("source")?,
            version: row.number("source_seq")?.unwrap_or_default(),
            index: row.number("source_index")?.unwrap_or_default(),
            topic: row.text("topic")?.unwrap_or_default(),
            kind: row.text("type")?.unwrap_or_default(),
            payload: row.text("payload")?,
            payload_bytes: row.bytes("payload_bytes")?,
            content_type: row.text("content_type")?,
            headers: row.text("headers")?,
        })
    };
    read().map_err(|message| StoreError::Corrupt { store: store.to_owned(), message })
}

/// Messages as lists of columns, in the order of the statement's parameters.
#[derive(Default)]
pub(crate) struct Batch<'a> {
    pub(crate) ids: Vec<Option<String>>,
    pub(crate) sources: Vec<Option<&'a str>>,
    pub(crate) versions: Vec<i64>,
    pub(crate) indexes: Vec<i32>,
    pub(crate) topics: Vec<&'a str>,
    pub(crate) kinds: Vec<&'a str>,
    pub(crate) texts: Vec<Option<&'a str>>,
    pub(crate) bytes: Vec<Option<&'a [u8]>>,
    pub(crate) content_types: Vec<Option<&'a str>>,
    pub(crate) headers: Vec<Option<String>>,
    pub(crate) delays: Vec<i64>,
}

impl<'a> Batch<'a> {
    pub(crate) fn of(messages: impl IntoIterator<Item = &'a NewMessage>) -> Self {
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
pub(crate) fn parts(body: &Body) -> (Option<&str>, Option<&[u8]>) {
    match body {
        Body::Text(text) => (Some(text), None),
        Body::Bytes(bytes) => (None, Some(bytes)),
    }
}
