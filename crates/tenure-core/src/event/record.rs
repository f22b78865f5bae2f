//! An event as it stands in the store.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Position, StreamName, Version};
use crate::outbox::{Body, MessageId};
use crate::time::StoreTime;

/// Where an event comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The message that caused it, by which a duplicate of that message is known again.
    pub message_id: Option<MessageId>,
    /// What all events and messages of one story share.
    pub correlation: Option<String>,
    /// What this event follows from: the id of a message or of an event.
    pub causation: Option<String>,
    /// Further words. `traceparent` and `tracestate` carry the trace context.
    pub headers: BTreeMap<String, String>,
}

impl Metadata {
    /// The headers as an object of JSON; `None` when there are none.
    pub fn headers_json(&self) -> Option<String> {
        if self.headers.is_empty() {
            return None;
        }
        serde_json::to_string(&self.headers).ok()
    }

    /// Headers from what [`Metadata::headers_json`] wrote; `None` when the text is something else.
    pub fn headers_from_json(text: &str) -> Option<BTreeMap<String, String>> {
        serde_json::from_str(text).ok()
    }
}

/// An event that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Where it stands among all events.
    pub position: Position,
    /// Its stream.
    pub stream: StreamName,
    /// Its number there.
    pub version: Version,
    /// Its id.
    pub id: Uuid,
    /// What it is.
    pub kind: String,
    /// The version of its type's schema, from 1.
    pub schema: u32,
    /// What it says.
    pub body: Body,
    /// Where it comes from.
    pub metadata: Metadata,
    /// When it was appended, by the store's clock.
    pub recorded_at: StoreTime,
}

/// The state of a stream's entity at one version, so that not all its events are read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The stream.
    pub stream: StreamName,
    /// The version that it shows.
    pub version: Version,
    /// What wrote it. Another kind's snapshot is as good as none.
    pub kind: String,
    /// The version of its schema.
    pub schema: u32,
    /// What it says.
    pub body: Body,
}
