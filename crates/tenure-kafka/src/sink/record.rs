//! From a message to a record: a CloudEvent in the binary mode of the Kafka binding.

use rdkafka::message::{Header, OwnedHeaders};
use tenure_core::observe::trace_headers;
use tenure_core::outbox::Message;
use tenure_core::outbox::cloudevents::{EventSource, attributes, check_content_type};

use super::topic::Topic;

/// What is produced, but for key and payload, which are the message's own.
pub(super) struct Record {
    pub(super) topic: String,
    pub(super) headers: OwnedHeaders,
    /// When the message was enqueued, in milliseconds since 1970; Kafka has none before.
    pub(super) timestamp: Option<i64>,
}

/// The record, or why there can be none. Nothing here is the broker's fault: another try would end the same way.
pub(super) fn build(topic: &Topic, source: &EventSource, message: &Message) -> Result<Record, String> {
    check_content_type(message.content_type())?;
    let mut headers = OwnedHeaders::new_with_capacity(16);
    let mut put = |name: &str, value: &str| {
        let all = std::mem::replace(&mut headers, OwnedHeaders::new_with_capacity(0));
        headers = all.insert(Header { key: name, value: Some(value) });
    };
    let mut named = String::with_capacity(32);
    attributes(source, message, |name, value| {
        named.clear();
        named.push_str("ce_");
        named.push_str(name);
        put(&named, &value);
    });
    put("content-type", message.content_type());
    for (name, text) in trace_headers(&message.headers) {
        // Where tracing looks for it. A context that is none stays an attribute.
        put(name, text);
    }
    let timestamp = Some(message.created_at.as_micros() / 1_000).filter(|at| *at > 0);
    Ok(Record { topic: topic.of(&message.topic)?, headers, timestamp })
}
