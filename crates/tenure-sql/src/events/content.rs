//! What an append carries, as rows of parameters.

use tenure_core::event::{Append, Expected, InboxMark, NewEvent, Version};
use tenure_core::outbox::{NewMessage, shorten};
use tenure_core::time::StoreTime;

use crate::batch::{in_portions, inserts};
use crate::ids::fresh_id;
use crate::value::{Value, micros};

/// The rows of an append's events that follow a version, in as many statements as they need.
pub(super) fn events(append: &Append, base: Version) -> Vec<Value> {
    inserts(event_rows(append, base))
}

/// The same, as they are.
pub(super) fn event_rows(append: &Append, base: Version) -> impl Iterator<Item = Vec<Value>> {
    let by_ids = append.expected == Expected::Any;
    let row = move |(at, event): (usize, &NewEvent)| {
        let (text, bytes) = event.body.parts();
        let id = event.id.to_string();
        vec![
            append.stream.as_str().into(),
            base.plus(at + 1).0.into(),
            id.clone().into(),
            by_ids.then_some(id).into(),
            event.kind.as_str().into(),
            i32::try_from(event.schema).unwrap_or(i32::MAX).into(),
            event.metadata.message_id.map(|id| id.to_string()).into(),
            event.metadata.correlation.as_deref().into(),
            event.metadata.causation.as_deref().into(),
            event.metadata.headers_json().into(),
            text.into(),
            bytes.into(),
        ]
    };
    append.events.iter().enumerate().map(row)
}

/// The rows of dispatches, in as many statements as they need. `now` is the server's clock, where one has a delay.
pub(super) fn dispatches(messages: &[&NewMessage], now: Option<StoreTime>) -> Vec<Vec<Vec<Value>>> {
    in_portions(messages.iter().map(|message| dispatch_row(message, now)))
}

/// The row of a dispatch.
pub(super) fn dispatch_row(message: &NewMessage, now: Option<StoreTime>) -> Vec<Value> {
    let (text, bytes) = message.body.parts();
    let delayed = now.filter(|_| !message.delay.is_zero());
    let deliver_at =
        delayed.map(|now| StoreTime::from_micros(now.as_micros().saturating_add(micros(message.delay))));
    vec![
        message.id.unwrap_or_else(fresh_id).to_string().into(),
        message.source.as_deref().into(),
        message.sequence.version.into(),
        message.sequence.index.into(),
        message.topic.as_str().into(),
        message.kind.as_str().into(),
        text.into(),
        bytes.into(),
        message.content_type.as_deref().into(),
        message.headers_json().into(),
        deliver_at.into(),
    ]
}

/// A mark as parameters.
pub(super) fn mark(mark: &InboxMark) -> Vec<Value> {
    vec![
        mark.consumer.as_str().into(),
        mark.id.to_string().into(),
        mark.fingerprint.map(|print| print.to_string()).into(),
        mark.refused.as_deref().map(shorten).into(),
    ]
}
