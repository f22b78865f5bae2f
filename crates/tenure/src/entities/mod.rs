//! Aggregates and processes at work: load, handle, append, one command at a time for each entity of a node.
//!
//! ```no_run
//! # use serde::{Deserialize, Serialize};
//! # use tenure::entity::{Aggregate, Rejection};
//! # #[derive(Debug, Clone, Default)] struct Book;
//! # #[derive(Clone, Serialize, Deserialize)] enum BookCommand { Lend { to: String } }
//! # #[derive(Serialize, Deserialize)] enum BookEvent { Lent { to: String } }
//! # impl Aggregate for Book {
//! #     const KIND: &'static str = "book";
//! #     type Command = BookCommand; type Event = BookEvent;
//! #     fn handle(&self, _: BookCommand) -> Result<Vec<BookEvent>, Rejection> { Ok(vec![]) }
//! #     fn apply(&mut self, _: &BookEvent) {}
//! # }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{Aggregates, Events, Reply};
//!
//! let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
//! let books = Aggregates::<Book>::new(Events::new(database.events()))?;
//! match books.tell("7", BookCommand::Lend { to: "ada".into() }).await? {
//!     Reply::Accepted { version, .. } => println!("lent, at version {version}"),
//!     Reply::Rejected(rejection) => println!("not lent: {rejection}"),
//! }
//! # Ok(()) }
//! ```
//!
//! **What it promises.** A command takes effect as a whole or not at all, and a message once, however often it comes. An
//! answer means that events and dispatches are committed; what was sent is delivered later, by a relay.

mod cache;
mod dispatcher;
mod engine;

use std::fmt;
use std::sync::Arc;

use tenure_core::contract::AppendError;
use tenure_core::entity::{AggregateOf, Behaviour, Caller, EntitySettings, PlanError, ProcessOf, Rejection};
use tenure_core::event::{AppendProblem, StreamName, Version};
use tenure_core::id::NameError;
use tenure_core::lease::SettingsError;
use tenure_core::observe::METER;
use tenure_core::outbox::{Consumer, MessageId};
use tracing::{Instrument as _, Span, field};

use self::cache::Cache;
pub use self::dispatcher::Dispatcher;
use crate::events::Events;
use crate::trace;

/// Aggregates of one kind.
pub type Aggregates<A> = Entities<AggregateOf<A>>;
/// Processes of one kind.
pub type Processes<P> = Entities<ProcessOf<P>>;

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a command may have been refused"]
pub enum Reply {
    /// It took effect, and what follows from it is committed.
    Accepted {
        /// The entity's version, as far as is known.
        version: Version,
        /// The message had taken effect before; nothing was done now.
        duplicate: bool,
    },
    /// It was refused, now or when it came before.
    Rejected(Rejection),
}

/// A command had no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TellError {
    /// The entity's id makes no stream.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The entity could not be made from its events, or its answer cannot be stored.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is something wrong with what it answered, or the store gave no answer: then it is unknown whether the command
    /// took effect.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Other nodes appended first, again and again.
    #[error("{stream}: others appended first, {times} times")]
    Contended {
        /// The stream.
        stream: StreamName,
        /// How often.
        times: u32,
    },
    /// A message with the same id and another content was seen before.
    #[error("a message with the id {id} and another content was seen before")]
    Differs {
        /// The id.
        id: MessageId,
    },
}

impl TellError {
    /// Whether the same command may succeed later, here or on another node: nothing is wrong with the command itself.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Contended { .. } => true,
            // A schema may be migrated, a permission given, a replica promoted.
            Self::Append(AppendError::Store(_)) => true,
            // A newer program may read what this one cannot; what is known too well is read anew.
            Self::Plan(PlanError::Event { .. } | PlanError::Ahead { .. }) => true,
            // Another node may have one.
            Self::Append(AppendError::Problem(AppendProblem::NoOutbox { .. })) => true,
            _ => false,
        }
    }
}

/// All entities of one kind, on this node. Clones share their cache.
pub struct Entities<B: Behaviour> {
    shared: Arc<Shared<B>>,
}

impl<B: Behaviour> fmt::Debug for Entities<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities").field("kind", &B::KIND).finish_non_exhaustive()
    }
}

impl<B: Behaviour> Clone for Entities<B> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

struct Shared<B: Behaviour> {
    events: Events,
    settings: EntitySettings,
    consumer: Consumer,
    cache: Cache<B>,
    observer: Option<Observer>,
}

/// Hears of every answer.
type Observer = Arc<dyn Fn(&Caller, &Reply) + Send + Sync>;

impl<B: Behaviour> Entities<B> {
    /// The entities of this kind among `events`.
    pub fn new(events: Events) -> Result<Self, NameError> {
        let consumer = Consumer::new(format!("entity:{}", B::KIND))?;
        Ok(Self::build(events, consumer, EntitySettings::default(), None))
    }

    /// The same with other settings than the default ones.
    pub fn with_settings(self, settings: EntitySettings) -> Result<Self, SettingsError> {
        settings.validate()?;
        let (events, consumer) = (self.shared.events.clone(), self.shared.consumer.clone());
        Ok(Self::build(events, consumer, settings, self.shared.observer.clone()))
    }

    /// The same, with someone who hears of every answer, as soon as it is known. The observer must be quick: the caller
    /// waits for it.
    #[must_use]
    pub fn observed_by(self, observer: impl Fn(&Caller, &Reply) + Send + Sync + 'static) -> Self {
        let Shared { events, consumer, settings, .. } = &*self.shared;
        Self::build(events.clone(), consumer.clone(), *settings, Some(Arc::new(observer)))
    }

    fn build(
        events: Events,
        consumer: Consumer,
        settings: EntitySettings,
        observer: Option<Observer>,
    ) -> Self {
        let cache = Cache::new(settings.cache);
        Self { shared: Arc::new(Shared { events, settings, consumer, cache, observer }) }
    }

    /// Tells an entity something, and answers when all of it is committed.
    pub async fn tell(&self, id: &str, command: B::Command) -> Result<Reply, TellError> {
        self.tell_as(id, command, &Caller::default()).await
    }

    /// The same for a command that came in a message, or that has a place in a story.
    pub async fn tell_as(&self, id: &str, command: B::Command, caller: &Caller) -> Result<Reply, TellError> {
        let failed = 3;
        let stream = StreamName::of(B::KIND, id);
        let stream = stream.inspect_err(|_| METER.entity_commands.add(failed, 1))?;
        let span = tracing::debug_span!("tenure.entity.tell", %stream, reply = field::Empty);
        let traced = self.traced(&span, caller);
        let caller = traced.as_ref().unwrap_or(caller);
        let reply = engine::tell(&self.shared, stream, command, caller).instrument(span.clone()).await;
        let (slot, word) = match &reply {
            Ok(Reply::Accepted { duplicate: false, .. }) => (0, "accepted"),
            Ok(Reply::Accepted { duplicate: true, .. }) => (1, "duplicate"),
            Ok(Reply::Rejected(_)) => (2, "rejected"),
            Err(_) => (failed, "failed"),
        };
        METER.entity_commands.add(slot, 1);
        span.record("reply", word);
        let reply = reply?;
        if let Some(observer) = &self.shared.observer {
            observer(caller, &reply);
        }
        Ok(reply)
    }

    /// The caller with the trace of this span, where somebody records it: what the command causes goes on from here.
    fn traced(&self, span: &Span, caller: &Caller) -> Option<Caller> {
        let trace = if span.is_disabled() { Vec::new() } else { trace::continued(span, &caller.trace) };
        (!trace.is_empty()).then(|| Caller { trace, ..caller.clone() })
    }

    /// The state of an entity, and its version, as the store has them.
    pub async fn state(&self, id: &str) -> Result<(B::State, Version), TellError> {
        engine::state(&self.shared, StreamName::of(B::KIND, id)?).await
    }
}
