//! What a user implements.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Dispatch, WINDOW_DEFAULT};
use crate::event::Types;

/// Why a command is refused: an answer for the sender, and for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rejection(String);

impl Rejection {
    /// Refuses for this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Rejection {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<String> for Rejection {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

/// An entity that answers commands with events. The value itself is its state.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tenure_core::entity::{Aggregate, Rejection};
///
/// #[derive(Debug, Clone, Default)]
/// struct Book { lent_to: Option<String> }
///
/// #[derive(Clone, Serialize, Deserialize)]
/// enum BookCommand { Lend { to: String }, Return }
///
/// #[derive(Serialize, Deserialize)]
/// enum BookEvent { Lent { to: String }, Returned }
///
/// impl Aggregate for Book {
///     const KIND: &'static str = "book";
///     type Command = BookCommand;
///     type Event = BookEvent;
///
///     fn handle(&self, command: BookCommand) -> Result<Vec<BookEvent>, Rejection> {
///         match command {
///             BookCommand::Lend { to } if self.lent_to.is_none() => Ok(vec![BookEvent::Lent { to }]),
///             BookCommand::Lend { .. } => Err("the book is lent already".into()),
///             BookCommand::Return if self.lent_to.is_none() => Ok(vec![]),
///             BookCommand::Return => Ok(vec![BookEvent::Returned]),
///         }
///     }
///
///     fn apply(&mut self, event: &BookEvent) {
///         self.lent_to = match event {
///             BookEvent::Lent { to } => Some(to.clone()),
///             BookEvent::Returned => None,
///         };
///     }
/// }
/// ```
pub trait Aggregate: Default + Clone + Send + Sync + 'static {
    /// What its streams' names begin with: the stream of book 7 is `book-7`. Also the topic of commands for it.
    const KIND: &'static str;
    /// What it is asked.
    type Command: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// What happened to it.
    type Event: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Decides about a command. No event means that there is nothing to do, and is an acceptance.
    fn handle(&self, command: Self::Command) -> Result<Vec<Self::Event>, Rejection>;

    /// Takes an event in. Must not fail: it has happened.
    fn apply(&mut self, event: &Self::Event);

    /// The versions of its events, and what makes new ones of old ones.
    fn events() -> Types<Self::Event> {
        Types::new()
    }

    /// The same for its commands.
    fn commands() -> Types<Self::Command> {
        Types::new()
    }

    /// How many messages are remembered in memory, so that a duplicate is answered without the store. The inbox remembers
    /// the rest.
    fn window() -> usize {
        WINDOW_DEFAULT
    }

    /// The version of what [`Aggregate::to_snapshot`] writes; another version's snapshot is not read.
    fn snapshot_schema() -> u32 {
        1
    }

    /// Its state as JSON, to be kept as a snapshot; `None` for one that is always replayed.
    fn to_snapshot(&self) -> Option<String> {
        None
    }

    /// Its state from a snapshot; `None` when it cannot be read, and all events are.
    fn from_snapshot(_: &str) -> Option<Self> {
        None
    }
}

/// What a process answers: what happened to it, and what it sends.
#[derive(Debug, Clone)]
pub struct Reaction<E> {
    /// What happened.
    pub events: Vec<E>,
    /// What is sent, in this order.
    pub dispatches: Vec<Dispatch>,
}

impl<E> Reaction<E> {
    /// Nothing to do.
    pub fn nothing() -> Self {
        Self { events: Vec::new(), dispatches: Vec::new() }
    }

    /// An event.
    pub fn event(event: E) -> Self {
        Self { events: vec![event], dispatches: Vec::new() }
    }

    /// A further event.
    #[must_use]
    pub fn and(mut self, event: E) -> Self {
        self.events.push(event);
        self
    }

    /// Sends a command along.
    #[must_use]
    pub fn send(mut self, dispatch: Dispatch) -> Self {
        self.dispatches.push(dispatch);
        self
    }
}

impl<E> From<Vec<E>> for Reaction<E> {
    fn from(events: Vec<E>) -> Self {
        Self { events, dispatches: Vec::new() }
    }
}

/// A process manager: an entity that also sends commands to others. Like an [`Aggregate`] otherwise.
///
/// Commands and routed events come in; events and dispatches go out in one transaction. What it sends arrives in order, and
/// has ids made of its stream, version and index: a replay sends nothing twice. A timeout is a command to itself with a
/// delay.
pub trait Process: Default + Clone + Send + Sync + 'static {
    /// What its streams' names begin with.
    const KIND: &'static str;
    /// What it is told: by callers, by routed events, by its own timeouts.
    type Command: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// What happened to it.
    type Event: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Decides about a command. What it sends follows from what happened, so a reaction that sends has an event.
    fn handle(&self, command: Self::Command) -> Result<Reaction<Self::Event>, Rejection>;

    /// Takes an event in. Must not fail: it has happened.
    fn apply(&mut self, event: &Self::Event);

    /// The versions of its events, and what makes new ones of old ones.
    fn events() -> Types<Self::Event> {
        Types::new()
    }

    /// The same for its commands.
    fn commands() -> Types<Self::Command> {
        Types::new()
    }

    /// How many messages are remembered in memory.
    fn window() -> usize {
        WINDOW_DEFAULT
    }

    /// The version of what [`Process::to_snapshot`] writes.
    fn snapshot_schema() -> u32 {
        1
    }

    /// Its state as JSON, to be kept as a snapshot.
    fn to_snapshot(&self) -> Option<String> {
        None
    }

    /// Its state from a snapshot.
    fn from_snapshot(_: &str) -> Option<Self> {
        None
    }
}

/// What the engine needs of an entity of either kind. Implemented by [`AggregateOf`] and [`ProcessOf`], and by nobody else.
pub trait Behaviour: Send + Sync + 'static {
    /// The kind.
    const KIND: &'static str;
    /// The state.
    type State: Default + Clone + Send + Sync + 'static;
    /// What it is asked.
    type Command: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// What happened to it.
    type Event: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Decides about a command.
    fn handle(state: &Self::State, command: Self::Command) -> Result<Reaction<Self::Event>, Rejection>;
    /// Takes an event in.
    fn apply(state: &mut Self::State, event: &Self::Event);
    /// The types of its events.
    fn events() -> Types<Self::Event>;
    /// The types of its commands.
    fn commands() -> Types<Self::Command>;
    /// How many messages are remembered in memory.
    fn window() -> usize;
    /// The version of its snapshots.
    fn snapshot_schema() -> u32;
    /// The state as a snapshot.
    fn to_snapshot(state: &Self::State) -> Option<String>;
    /// The state from a snapshot.
    fn from_snapshot(text: &str) -> Option<Self::State>;
}

/// An aggregate, as the engine sees it.
#[derive(Debug)]
pub struct AggregateOf<A>(std::marker::PhantomData<fn() -> A>);

/// A process, as the engine sees it.
#[derive(Debug)]
pub struct ProcessOf<P>(std::marker::PhantomData<fn() -> P>);

macro_rules! behaviour {
    ($wrapper:ident, $trait:ident) => {
        impl<T: $trait> Behaviour for $wrapper<T> {
            const KIND: &'static str = T::KIND;
            type State = T;
            type Command = T::Command;
            type Event = T::Event;

            fn handle(state: &T, command: T::Command) -> Result<Reaction<T::Event>, Rejection> {
                state.handle(command).map(Into::into)
            }
            fn apply(state: &mut T, event: &T::Event) {
                state.apply(event);
            }
            fn events() -> Types<T::Event> {
                T::events()
            }
            fn commands() -> Types<T::Command> {
                T::commands()
            }
            fn window() -> usize {
                T::window()
            }
            fn snapshot_schema() -> u32 {
                T::snapshot_schema()
            }
            fn to_snapshot(state: &T) -> Option<String> {
                state.to_snapshot()
            }
            fn from_snapshot(text: &str) -> Option<T> {
                T::from_snapshot(text)
            }
        }
    };
}

behaviour!(AggregateOf, Aggregate);
behaviour!(ProcessOf, Process);
