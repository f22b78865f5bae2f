//! Given these events, when this command comes, then that follows.
// A test that is not met ends in a panic: that is what this is for.
#![allow(clippy::panic)]

use tenure_core::entity::{
    Aggregate, AggregateOf, Behaviour, Dispatch, Process, ProcessOf, Reaction, Rejection,
};
use tenure_core::event::{Encoded, encode};
use tenure_core::outbox::Body;

/// An aggregate without a past.
pub fn aggregate<A: Aggregate>() -> Given<AggregateOf<A>> {
    Given { state: A::default() }
}

/// A process without a past.
pub fn process<P: Process>() -> Given<ProcessOf<P>> {
    Given { state: P::default() }
}

/// An entity with a past.
#[derive(Debug)]
pub struct Given<B: Behaviour> {
    state: B::State,
}

impl<B: Behaviour> Given<B> {
    /// These events have happened. Each goes through the registry of types, as it does when it is stored and read.
    #[track_caller]
    #[must_use]
    pub fn given(mut self, events: impl IntoIterator<Item = B::Event>) -> Self {
        for event in events {
            let Encoded { kind, payload } = stored(&event);
            let types = B::events();
            match types.decode(&kind, types.schema_of(&kind), &Body::Text(payload)) {
                Ok(event) => B::apply(&mut self.state, &event),
                Err(error) => panic!("an event cannot be read back: {error}"),
            }
        }
        self
    }

    /// This command comes.
    #[must_use = "say what is to follow"]
    pub fn when(self, command: B::Command) -> Then<B> {
        let answer = B::handle(&self.state, command);
        let mut state = self.state;
        for event in answer.iter().flat_map(|reaction| &reaction.events) {
            B::apply(&mut state, event);
        }
        Then { state, answer }
    }
}

/// What follows.
#[derive(Debug)]
pub struct Then<B: Behaviour> {
    state: B::State,
    answer: Result<Reaction<B::Event>, Rejection>,
}

impl<B: Behaviour> Then<B> {
    /// Exactly these events happen.
    #[track_caller]
    pub fn then_events(self, events: impl IntoIterator<Item = B::Event>) -> Self {
        let expected: Vec<_> = events.into_iter().map(|event| shown(&stored(&event))).collect();
        let found: Vec<_> = self.accepted().events.iter().map(|event| shown(&stored(event))).collect();
        assert_eq!(found, expected, "other events happened");
        self
    }

    /// Nothing happens, and nothing is sent; the command is accepted.
    #[track_caller]
    pub fn then_nothing(self) -> Self {
        let sent = self.accepted().dispatches.len();
        assert_eq!(sent, 0, "something was sent");
        self.then_events([])
    }

    /// The command is refused, for a reason that contains this text.
    #[track_caller]
    pub fn then_rejected(self, reason: &str) -> Self {
        match &self.answer {
            Ok(reaction) => {
                let events: Vec<_> = reaction.events.iter().map(|event| shown(&stored(event))).collect();
                panic!("the command was accepted, with {events:?}");
            }
            Err(rejection) => assert!(
                rejection.reason().contains(reason),
                "it was refused for another reason: {rejection}, which does not contain {reason:?}"
            ),
        }
        self
    }

    /// Exactly these commands are sent, in this order.
    #[track_caller]
    pub fn then_sends(self, dispatches: impl IntoIterator<Item = Dispatch>) -> Self {
        let expected: Vec<_> = dispatches.into_iter().map(|dispatch| sent(&dispatch)).collect();
        let found: Vec<_> = self.accepted().dispatches.iter().map(sent).collect();
        assert_eq!(found, expected, "something else was sent");
        assert!(
            found.is_empty() || !self.accepted().events.is_empty(),
            "commands are sent without an event; nothing of this would be stored"
        );
        self
    }

    /// The state after the events.
    #[track_caller]
    pub fn then_state(self, check: impl FnOnce(&B::State)) -> Self {
        check(&self.state);
        self
    }

    #[track_caller]
    fn accepted(&self) -> &Reaction<B::Event> {
        match &self.answer {
            Ok(reaction) => reaction,
            Err(rejection) => panic!("the command was refused: {rejection}"),
        }
    }
}

#[track_caller]
fn stored<E: serde::Serialize>(event: &E) -> Encoded {
    match encode(event) {
        Ok(encoded) => encoded,
        Err(error) => panic!("an event cannot be stored: {error}"),
    }
}

fn shown(encoded: &Encoded) -> String {
    format!("{} {}", encoded.kind, encoded.payload)
}

fn sent(dispatch: &Dispatch) -> String {
    let command = dispatch.command().map_or_else(|error| error.to_string(), shown);
    let delay = match dispatch.delay() {
        delay if delay.is_zero() => String::new(),
        delay => format!(" after {delay:?}"),
    };
    format!("to {}-{}: {command}{delay}", dispatch.kind(), dispatch.to())
}
