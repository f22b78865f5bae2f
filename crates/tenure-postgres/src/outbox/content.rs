//! What a message says, as the statement's parameters carry it.

use tenure_core::outbox::NewMessage;
use tenure_sql::micros;

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
            let (text, bytes) = message.body.parts();
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
            batch.delays.push(micros(message.delay));
        }
        batch
    }
}
