//! From a message to what is published: a CloudEvent in binary mode.

use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;
use tenure_core::outbox::Message;
use tenure_core::outbox::cloudevents::{attributes, check_content_type, percent_encode};

use crate::sink::EventSource;

/// What is published, or why it cannot be. Nothing here is the network's fault: another try would end the same way.
pub(super) fn build(source: &EventSource, message: &Message) -> Result<PublishMessage, String> {
    let mut headers = HeaderMap::new();
    attributes(source, message, |name, value| {
        headers.insert(format!("ce-{name}"), percent_encode(&value).as_ref());
    });
    check_content_type(message.content_type())?;
    headers.insert("content-type", message.content_type());
    for name in ["traceparent", "tracestate"] {
        // A context that is none stays an attribute: a receiver's tracing should not have to cope with it.
        let context =
            message.headers.get(name).filter(|value| value.bytes().all(|b| matches!(b, b' '..=b'~')));
        if let Some(value) = context {
            headers.insert(name, value.as_str());
        }
    }
    let payload = message.body.as_bytes().to_vec().into();
    // The server's own window of duplicates goes by this.
    Ok(PublishMessage::build().headers(headers).payload(payload).message_id(message.id.to_string()))
}
