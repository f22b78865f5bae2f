//! Events, and those that a subscription has put aside.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::message::{MessageShape, shown};
use super::schema::{Shape, list_of, map_of, maybe, object, text, truth, whole};
use crate::event::Recorded;
use crate::outbox::{Body, Summary};
use crate::subscription::Parked;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventShape {
    /// What it says, or the beginning of it: as text, or as hexadecimal digits.
    pub body: Option<String>,
    /// How many bytes the whole of it has.
    pub body_bytes: u64,
    /// Whether there is more of it than is told.
    pub body_cut: bool,
    /// Whether the one who asks may not see it. Not told when he may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub body_hidden: bool,
    /// Whether it is told as hexadecimal digits.
    pub body_is_hex: bool,
    /// What it follows from: the id of a message or of an event.
    pub causation: Option<String>,
    /// What all events and messages of one story share.
    pub correlation: Option<String>,
    /// Further words.
    pub headers: BTreeMap<String, String>,
    /// Its id.
    pub id: String,
    /// The message that caused it.
    pub message_id: Option<String>,
    /// Where it stands among all events.
    pub position: i64,
    /// When it was appended.
    pub recorded_at: String,
    /// The version of its type's schema.
    pub schema: u32,
    /// The messages that it sent, without those that retention has deleted. Told within a story only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Vec<MessageShape>>,
    /// Its stream.
    pub stream: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number in its stream.
    pub version: i64,
}

impl EventShape {
    /// An event, with at most so many bytes of its body.
    pub fn of(event: &Recorded, body_max: usize) -> Self {
        let bytes = event.body.as_bytes();
        let is_text = matches!(event.body, Body::Text(_));
        let (body, body_cut) = shown(bytes, is_text, body_max);
        Self {
            body: Some(body),
            body_bytes: bytes.len() as u64,
            body_cut,
            body_hidden: false,
            body_is_hex: !is_text,
            causation: event.metadata.causation.clone(),
            correlation: event.metadata.correlation.clone(),
            headers: event.metadata.headers.clone(),
            id: event.id.to_string(),
            message_id: event.metadata.message_id.map(|id| id.to_string()),
            position: event.position.0,
            recorded_at: event.recorded_at.to_string(),
            schema: event.schema,
            sent: None,
            stream: event.stream.to_string(),
            kind: event.kind.clone(),
            version: event.version.0,
        }
    }

    /// The same with the messages that it sent.
    #[must_use]
    pub fn with_sent(self, sent: &[Summary]) -> Self {
        Self { sent: Some(sent.iter().map(MessageShape::from).collect()), ..self }
    }

    /// The same for someone who may not see what the event says: without body and headers.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { body: None, body_cut: false, body_hidden: true, headers: BTreeMap::new(), ..self }
    }
}

impl Shape for EventShape {
    const NAME: &'static str = "Event";
    const MAY_LACK: &'static [&'static str] = &["body_hidden", "sent"];
    fn schema() -> Value {
        object(vec![
            ("body", maybe(text())),
            ("body_bytes", whole()),
            ("body_cut", truth()),
            ("body_hidden", truth()),
            ("body_is_hex", truth()),
            ("causation", maybe(text())),
            ("correlation", maybe(text())),
            ("headers", map_of(text())),
            ("id", text()),
            ("message_id", maybe(text())),
            ("position", whole()),
            ("recorded_at", text()),
            ("schema", whole()),
            ("sent", list_of::<MessageShape>()),
            ("stream", text()),
            ("type", text()),
            ("version", whole()),
        ])
    }
}

/// An event that a subscription has put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParkedShape {
    /// How often it was tried.
    pub attempts: u32,
    /// When it was put aside.
    pub parked_at: String,
    /// The event.
    pub position: i64,
    /// Why.
    pub reason: String,
    /// Its stream; null when its row cannot be read so far.
    pub stream: Option<String>,
    /// What it is; empty when its row cannot be read so far.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number in its stream; 0 when its row cannot be read so far.
    pub version: i64,
}

impl From<&Parked> for ParkedShape {
    fn from(parked: &Parked) -> Self {
        let aside = &parked.aside;
        Self {
            attempts: aside.attempts,
            parked_at: parked.parked_at.to_string(),
            position: aside.position.0,
            reason: aside.reason.clone(),
            stream: aside.stream.as_ref().map(ToString::to_string),
            kind: aside.kind.clone(),
            version: aside.version.0,
        }
    }
}

impl Shape for ParkedShape {
    const NAME: &'static str = "Parked";
    fn schema() -> Value {
        object(vec![
            ("attempts", whole()),
            ("parked_at", text()),
            ("position", whole()),
            ("reason", text()),
            ("stream", maybe(text())),
            ("type", text()),
            ("version", whole()),
        ])
    }
}
