//! From a message to what is published: a CloudEvent in binary mode.

use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;
use tenure_core::observe::trace_headers;
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
    for (name, text) in trace_headers(&message.headers) {
        // Where tracing looks for it. A context that is none stays an attribute.
        headers.insert(name, text);
    }
    let payload = message.body.as_bytes().to_vec().into();
    // The server's own window of duplicates goes by this.
    Ok(PublishMessage::build().headers(headers).payload(payload).message_id(message.id.to_string()))
}
