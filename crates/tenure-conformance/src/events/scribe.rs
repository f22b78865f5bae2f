//! One who appends and reads. Cases read as what such a one does.

use std::sync::Arc;

use tenure_core::contract::{AppendError, CheckpointStore, EventStore};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Appended, Expected, InboxMark, Limits, NewEvent, Position, Recorded,
    StreamName, StreamRead, Version,
};
use tenure_core::outbox::Consumer;
use tenure_core::subscription::{Advance, Checkpoint, Rewind, Step, SubscriptionName};
use uuid::Uuid;

use super::backend::EventBackend;
use crate::outbox::desk::unique_id;

/// More than any case has in one stream, unless it says so.
pub(crate) const ALL: u32 = 2_000;

/// An event that says `number`, with an id that no other has.
pub(crate) fn event(number: u32) -> NewEvent {
    NewEvent::json(Uuid::from_u128(fastrand::u128(..)), "Happened", format!("{{\"number\":{number}}}"))
}

/// Events that say these numbers.
pub(crate) fn events(numbers: impl IntoIterator<Item = u32>) -> Vec<NewEvent> {
    numbers.into_iter().map(event).collect()
}

/// The stream of this name.
pub(crate) fn stream(name: &str) -> StreamName {
    StreamName::new(name).unwrap_or_else(|error| panic!("{name:?} must be a stream's name: {error}"))
}

/// An append of events to a stream that has this many.
pub(crate) fn at(name: &str, version: i64, numbers: impl IntoIterator<Item = u32>) -> Append {
    Append::new(stream(name), Expected::Exact(Version(version)), events(numbers))
}

/// An append of events to a stream, whatever it has.
pub(crate) fn to(name: &str, numbers: impl IntoIterator<Item = u32>) -> Append {
    Append::new(stream(name), Expected::Any, events(numbers))
}

/// The mark of a message that no other case has.
pub(crate) fn mark() -> InboxMark {
    let consumer = Consumer::new("conformance").expect("a consumer");
    let fingerprint = Some(Uuid::from_u128(fastrand::u128(..)));
    InboxMark { consumer, id: unique_id(), fingerprint, refused: None }
}

/// The same message, refused.
pub(crate) fn refused(mark: &InboxMark, reason: &str) -> InboxMark {
    InboxMark { refused: Some(reason.to_owned()), ..mark.clone() }
}

/// A mark and nothing else.
pub(crate) fn only_mark(name: &str, mark: InboxMark) -> Append {
    Append::new(stream(name), Expected::Any, Vec::new()).with_mark(mark)
}

/// The subscription of this name.
pub(crate) fn subscription(name: &str) -> SubscriptionName {
    SubscriptionName::new(name)
        .unwrap_or_else(|error| panic!("{name:?} must be a subscription's name: {error}"))
}

/// A step that puts nothing aside.
pub(crate) fn step(name: &str, from: i64, to: i64) -> Step {
    Step { name: subscription(name), from: Position(from), rewinds: 0, to: Position(to), parked: Vec::new() }
}

/// What events say, as they come.
pub(crate) fn numbers(events: &[Recorded]) -> Vec<u32> {
    let number = |event: &Recorded| {
        let text = std::str::from_utf8(event.body.as_bytes()).expect("text");
        text.trim_start_matches("{\"number\":").trim_end_matches('}').parse().expect("a number")
    };
    events.iter().map(number).collect()
}

/// The answer of an append that happened now.
pub(crate) fn first_time(answer: AppendAnswer) -> Appended {
    match answer {
        AppendAnswer::Appended(appended) if !appended.repeated => appended,
        other => panic!("it must be appended now, but the answer is {other:?}"),
    }
}

/// Every event is at a higher position than the one before it, and follows the one before it in its stream.
pub(crate) fn assert_in_order(events: &[Recorded]) {
    let mut versions = std::collections::BTreeMap::new();
    for pair in events.windows(2) {
        assert!(pair[0].position < pair[1].position, "positions must rise: {:?}", [&pair[0], &pair[1]]);
    }
    for event in events {
        let before = versions.insert(&event.stream, event.version).unwrap_or(Version::NONE);
        assert_eq!(event.version, before.plus(1), "{} must come in order, each event once", event.stream);
    }
}

/// One node's handles.
#[derive(Clone)]
pub(crate) struct Scribe {
    pub(crate) events: Arc<dyn EventStore>,
    pub(crate) checkpoints: Arc<dyn CheckpointStore>,
}

impl Scribe {
    pub(crate) async fn open(backend: &dyn EventBackend) -> Self {
        Self { events: backend.events().await, checkpoints: backend.checkpoints().await }
    }

    /// So many of them, each with handles of its own.
    pub(crate) async fn several(backend: &dyn EventBackend, count: usize) -> Vec<Self> {
        let mut scribes = Vec::with_capacity(count);
        for _ in 0..count {
            scribes.push(Self::open(backend).await);
        }
        scribes
    }

    /// Appends. Whatever is answered will do, but an answer there must be.
    pub(crate) async fn tries(&self, append: &Append) -> AppendAnswer {
        let answer = self.events.append(append, &Limits::default()).await;
        answer.unwrap_or_else(|error| panic!("an append must be answered: {error}"))
    }

    /// Appends what must be appended now.
    pub(crate) async fn appends(&self, append: &Append) -> Appended {
        first_time(self.tries(append).await)
    }

    /// Appends what must be refused.
    pub(crate) async fn fails(&self, append: &Append) -> AppendError {
        match self.events.append(append, &Limits::default()).await {
            Err(error) => error,
            Ok(answer) => panic!("the append must be refused, but the answer is {answer:?}"),
        }
    }

    /// A stream's events, the first one first.
    pub(crate) async fn reads(&self, name: &str) -> Vec<Recorded> {
        let page = self.events.read_stream(&StreamRead::forward(stream(name), Version(1), ALL)).await;
        page.unwrap_or_else(|error| panic!("a stream must be read: {error}")).events
    }

    /// A stream's version, as a page says it.
    pub(crate) async fn version(&self, name: &str) -> Version {
        let page = self.events.read_stream(&StreamRead::backward(stream(name), 1)).await;
        page.unwrap_or_else(|error| panic!("a stream must be read: {error}")).version
    }

    /// One page of all events.
    pub(crate) async fn page(&self, after: Position, limit: u32) -> AllPage {
        let page = self.events.read_all(after, limit).await;
        page.unwrap_or_else(|error| panic!("a page must be read: {error}"))
    }

    /// All events by position, when nobody appends.
    pub(crate) async fn all(&self) -> Vec<Recorded> {
        let page = self.page(Position::START, ALL).await;
        assert_eq!((page.read_to, page.stall), (page.head, None), "nobody is appending");
        assert_eq!(page.unreadable, [], "nobody has damaged anything");
        page.events
    }

    pub(crate) async fn checkpoint(&self, name: &str) -> Position {
        self.knows(name).await.position
    }

    /// The checkpoint as a reader learns it.
    pub(crate) async fn knows(&self, name: &str) -> Checkpoint {
        let checkpoint = self.checkpoints.checkpoint(&subscription(name)).await;
        checkpoint.unwrap_or_else(|error| panic!("a checkpoint must be answered: {error}"))
    }

    /// An operator moves a checkpoint.
    pub(crate) async fn rewinds(&self, name: &str, to: i64) {
        let rewound = self.checkpoints.rewind(&subscription(name), Position(to), "eve").await;
        let rewound = rewound.unwrap_or_else(|error| panic!("a rewind must be answered: {error}"));
        assert_eq!(rewound, Rewind::Moved, "to {to}");
    }

    /// Moves a checkpoint without an office.
    pub(crate) async fn steps(&self, step: &Step) -> Advance {
        let advance = self.checkpoints.advance(None, step).await;
        advance.unwrap_or_else(|error| panic!("a step must be answered: {error}"))
    }

    /// Nothing at all was written.
    pub(crate) async fn finds_nothing(&self, name: &str) {
        assert_eq!((self.reads(name).await, self.version(name).await), (Vec::new(), Version::NONE));
        assert_eq!(self.all().await, [], "nothing is to be read by position either");
    }
}

/// Lets each of them do its part at the same time, and gives what came of it in their order.
pub(crate) async fn at_once<T, F>(parts: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = parts.into_iter().map(tokio::spawn).collect();
    let mut done = Vec::with_capacity(tasks.len());
    for task in tasks {
        done.push(task.await.expect("no part panics"));
    }
    done
}
