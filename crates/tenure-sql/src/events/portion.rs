//! What an append brings into a group: its rows, and how much that is.

use tenure_core::event::{Append, Appended, Expected, Position, Version};
use tenure_core::outbox::Body;

use super::content;
use super::line::{Key, Load};
use crate::value::Value;

/// The rows of one append that is in a group.
#[derive(Debug)]
pub(super) struct Portion {
    pub(super) stream: String,
    /// The version that its events follow.
    pub(super) base: Version,
    /// The version of its last event.
    pub(super) last: Version,
    pub(super) events: Vec<Vec<Value>>,
    pub(super) dispatches: Vec<Vec<Value>>,
    pub(super) mark: Option<Vec<Value>>,
}

impl Portion {
    /// The rows of an append that has a [`load`].
    pub(super) fn of(append: &Append, base: Version) -> Self {
        Self {
            stream: append.stream.as_str().to_owned(),
            base,
            last: base.plus(append.events.len()),
            events: content::event_rows(append, base).collect(),
            dispatches: append.dispatches.iter().map(|one| content::dispatch_row(one, None)).collect(),
            mark: append.mark.as_ref().map(content::mark),
        }
    }

    /// What is answered about it.
    pub(super) fn appended(&self, position: Position) -> Appended {
        Appended { version: self.last, position: Some(position), repeated: false }
    }
}

/// How much an append is in a group, and the version that its events follow; none of one that has to go by itself: what it
/// does depends on what is there (an append without events, or without an expected version), on the server's clock, or it is
/// large.
pub(super) fn load(append: &Append) -> Option<(Load, Version)> {
    let Expected::Exact(base) = append.expected else { return None };
    if append.events.is_empty() || append.dispatches.iter().any(|message| !message.delay.is_zero()) {
        return None;
    }
    let events = append.events.iter().map(|event| {
        let origin = [&event.metadata.correlation, &event.metadata.causation];
        let origin: usize = origin.into_iter().flatten().map(String::len).sum();
        bytes_of(&event.body, &event.metadata.headers) + event.kind.len() + origin
    });
    let dispatches = append.dispatches.iter().map(|message| {
        let words = [message.source.as_deref(), message.content_type.as_deref()];
        let words: usize = words.into_iter().flatten().map(str::len).sum();
        bytes_of(&message.body, &message.headers) + message.topic.len() + message.kind.len() + words
    });
    let mut keys = vec![Key::Stream(append.stream.clone())];
    keys.extend(append.dispatches.iter().filter_map(|message| message.id).map(Key::Message));
    keys.extend(append.mark.as_ref().map(|mark| Key::Mark(mark.consumer.clone(), mark.id)));
    let load = Load {
        rows: append.events.len() + append.dispatches.len(),
        bytes: events.chain(dispatches).sum(),
        keys,
    };
    load.is_light().then_some((load, base))
}

/// What a row has that can be large.
fn bytes_of(body: &Body, headers: &std::collections::BTreeMap<String, String>) -> usize {
    body.as_bytes().len() + headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
}
