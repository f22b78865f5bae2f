//! From a command to an append, without I/O: replay, handle, and what is to be written.

use std::fmt;

use uuid::Uuid;

use super::{Behaviour, Reaction, Rejection, Window};
use crate::event::{
    Append, DecodeError, Expected, InboxMark, Metadata, NewEvent, Recorded, Snapshot, StreamName, Version,
    encode,
};
use crate::outbox::{Consumer, MessageId};

/// What is known of who tells an entity something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The message that the command came in; `None` for a call that is not a message.
    pub message_id: Option<MessageId>,
    /// What stands for the message's content.
    pub fingerprint: Option<Uuid>,
    /// What all events and messages of one story share; the message's id when there is none.
    pub correlation: Option<String>,
    /// What the command follows from.
    pub causation: Option<String>,
    /// The trace context.
    pub trace: Vec<(String, String)>,
}

impl Caller {
    fn metadata(&self) -> Metadata {
        let message = self.message_id.map(|id| id.to_string());
        Metadata {
            message_id: self.message_id,
            correlation: self.correlation.clone().or_else(|| message.clone()),
            causation: message.or_else(|| self.causation.clone()),
            headers: self.trace.iter().cloned().collect(),
        }
    }
}

/// An entity as its events make it.
pub struct Replayed<B: Behaviour> {
    /// Its state.
    pub state: B::State,
    /// The version that the state shows.
    pub version: Version,
    /// The messages that it remembers.
    pub window: Window,
}

impl<B: Behaviour> fmt::Debug for Replayed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayed")
            .field("kind", &B::KIND)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl<B: Behaviour> Clone for Replayed<B> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), version: self.version, window: self.window.clone() }
    }
}

impl<B: Behaviour> Default for Replayed<B> {
    fn default() -> Self {
        Self { state: B::State::default(), version: Version::NONE, window: Window::new(B::window()) }
    }
}

impl<B: Behaviour> Replayed<B> {
    /// Begins at a snapshot. `None` when it is another kind's, another schema's, or cannot be read.
    pub fn from_snapshot(snapshot: &Snapshot) -> Option<Self> {
        if snapshot.kind != B::KIND || snapshot.schema != B::snapshot_schema() {
            return None;
        }
        let text = std::str::from_utf8(snapshot.body.as_bytes()).ok()?;
        let state = B::from_snapshot(text)?;
        Some(Self { state, version: snapshot.version, ..Self::default() })
    }

    /// Its snapshot, if it has one.
    pub fn to_snapshot(&self, stream: &StreamName) -> Option<Snapshot> {
        Some(Snapshot {
            stream: stream.clone(),
            version: self.version,
            kind: B::KIND.to_owned(),
            schema: B::snapshot_schema(),
            body: crate::outbox::Body::Text(B::to_snapshot(&self.state)?),
        })
    }
}

/// Why a command came to nothing without being refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An event of the stream cannot be read by this program, so the state is unknown.
    #[error("event {version} of {stream}: {error}")]
    Event {
        /// The stream.
        stream: StreamName,
        /// Which event.
        version: Version,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// The events do not follow one another.
    #[error("{stream} goes from version {before} to {found}: an event is missing")]
    Gap {
        /// The stream.
        stream: StreamName,
        /// The version before the gap.
        before: Version,
        /// The version after it.
        found: Version,
    },
    /// What is known of the entity is ahead of its stream: the store was restored from an older backup.
    #[error(
        "{stream} has version {actual}, but its state was known at {known}: the store was restored from an older backup"
    )]
    Ahead {
        /// The stream.
        stream: StreamName,
        /// The version that was known.
        known: Version,
        /// The version that it has.
        actual: Version,
    },
    /// What the entity answered cannot be stored.
    #[error("the answer cannot be stored: {0}")]
    Answer(DecodeError),
    /// A process sent something without an event.
    #[error(
        "{stream} sends {dispatches} commands and records no event: what is sent must follow from what happened, or a \
         replay would send it again under another id"
    )]
    SendsWithoutEvent {
        /// The stream.
        stream: StreamName,
        /// How many it sends.
        dispatches: usize,
    },
}

/// Takes events in that follow the version of the state.
pub fn replay<B: Behaviour>(mut entity: Replayed<B>, events: &[Recorded]) -> Result<Replayed<B>, PlanError> {
    let types = B::events();
    for recorded in events {
        let (stream, found) = (&recorded.stream, recorded.version);
        if found != entity.version.plus(1) {
            return Err(PlanError::Gap { stream: stream.clone(), before: entity.version, found });
        }
        let event = types
            .decode(&recorded.kind, recorded.schema, &recorded.body)
            .map_err(|error| PlanError::Event { stream: stream.clone(), version: found, error })?;
        B::apply(&mut entity.state, &event);
        entity.version = found;
        if let Some(id) = recorded.metadata.message_id {
            entity.window.add(id);
        }
    }
    Ok(entity)
}

/// What is to be done about a command.
#[derive(Debug)]
pub enum Planned<E> {
    /// Nothing: the message took effect before.
    Duplicate,
    /// Nothing happened, and nobody needs to remember it.
    Nothing,
    /// This is written; then the events are taken in.
    Append {
        /// What is written.
        append: Append,
        /// The events, as the entity made them.
        events: Vec<E>,
    },
    /// It is refused. A message's refusal is written, so that a duplicate gets the same answer.
    Refuse {
        /// What is written, if anything.
        append: Option<Append>,
        /// Why.
        rejection: Rejection,
    },
}

/// Handles a command, and plans what is written. `seed` is what the ids of its events are made of: a retry of the same
/// command has the same.
pub fn plan<B: Behaviour>(
    entity: &Replayed<B>,
    stream: &StreamName,
    consumer: &Consumer,
    command: B::Command,
    caller: &Caller,
    seed: Uuid,
) -> Result<Planned<B::Event>, PlanError> {
    // With another content under the same id, the inbox has the last word.
    if caller.message_id.is_some_and(|id| entity.window.knows(id, caller.fingerprint)) {
        return Ok(Planned::Duplicate);
    }
    let mark = |refused: Option<String>| {
        let (consumer, fingerprint) = (consumer.clone(), caller.fingerprint);
        caller.message_id.map(|id| InboxMark { consumer, id, fingerprint, refused })
    };
    let expected = Expected::Exact(entity.version);
    let reaction = match B::handle(&entity.state, command) {
        Ok(reaction) => reaction,
        Err(rejection) => {
            let append = mark(Some(crate::outbox::shorten(rejection.reason())))
                .map(|mark| Append::new(stream.clone(), expected, Vec::new()).with_mark(mark));
            return Ok(Planned::Refuse { append, rejection });
        }
    };
    let (append, events) = react::<B>(reaction, stream, entity.version, caller, seed)?;
    let append = match mark(None) {
        Some(mark) => append.with_mark(mark),
        None if append.events.is_empty() => return Ok(Planned::Nothing),
        None => append,
    };
    Ok(Planned::Append { append, events })
}

/// What a reaction comes to at a version: the append without its mark, and the events.
fn react<B: Behaviour>(
    reaction: Reaction<B::Event>,
    stream: &StreamName,
    before: Version,
    caller: &Caller,
    seed: Uuid,
) -> Result<(Append, Vec<B::Event>), PlanError> {
    let Reaction { events, dispatches } = reaction;
    if events.is_empty() && !dispatches.is_empty() {
        return Err(PlanError::SendsWithoutEvent { stream: stream.clone(), dispatches: dispatches.len() });
    }
    let (types, metadata) = (B::events(), caller.metadata());
    let encoded = |(index, event): (usize, &B::Event)| {
        let encoded = encode(event).map_err(PlanError::Answer)?;
        let id = Uuid::new_v5(&seed, &(index as u64).to_be_bytes());
        let schema = types.schema_of(&encoded.kind);
        // What could not be read back must not be written: the entity would be lost with it.
        types.decode_text(&encoded.kind, schema, &encoded.payload).map_err(PlanError::Answer)?;
        let body = crate::outbox::Body::Text(encoded.payload);
        Ok(NewEvent { id, kind: encoded.kind, schema, body, metadata: metadata.clone() })
    };
    let new = events.iter().enumerate().map(encoded).collect::<Result<Vec<_>, PlanError>>()?;
    let version = before.plus(new.len());
    let messages = dispatches
        .iter()
        .enumerate()
        .map(|(index, dispatch)| dispatch.message(stream, version, index, metadata.correlation.as_deref()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(PlanError::Answer)?;
    let append = Append::new(stream.clone(), Expected::Exact(before), new);
    Ok((append.with_dispatches(messages), events))
}
