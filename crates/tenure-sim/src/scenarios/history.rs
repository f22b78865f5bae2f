//! What the stories about events have in common: a world with them, and things to append and to tell.

use tenure_core::entity::EntitySettings;
use tenure_core::event::{Append, Expected, NewEvent, StreamName};
use tenure_core::outbox::{MessageId, NewMessage};
use uuid::Uuid;

use super::seconds;
use crate::events::{EventsWorld, Mail};
use crate::plan::{EventsPlan, SubscriptionPlan};
use crate::report::Failure;

/// A world with one reader and two writers, in which nothing goes wrong but what the story lets go wrong.
pub(super) fn world(seed: u64) -> EventsWorld {
    let subscriptions = vec![SubscriptionPlan::plain()];
    EventsWorld::new(EventsPlan { writers: 2, subscriptions, ..EventsPlan::calm(seed) })
}

/// A world with two hosts of entities.
pub(super) fn hosts(seed: u64) -> EventsWorld {
    EventsWorld::new(EventsPlan { hosts: 2, ..EventsPlan::calm(seed) })
}

/// The same, with nothing in memory from one message to the next.
pub(super) fn forgetful_hosts(seed: u64) -> EventsWorld {
    let entities = EntitySettings { cache: 0, ..EntitySettings::default() };
    EventsWorld::new(EventsPlan { hosts: 2, entities, ..EventsPlan::calm(seed) })
}

/// The name of a stream.
pub(super) fn stream(name: &str) -> StreamName {
    StreamName::new(name).unwrap_or_else(|error| unreachable!("a valid name: {error:?}"))
}

/// Two events and a dispatch, with ids that follow from a number.
pub(super) fn append(to: &str, expected: Expected, number: u128) -> Append {
    let event = |index: u128| NewEvent::json(Uuid::from_u128(number * 10 + index), "Happened", "{}");
    let dispatch = NewMessage::json("nowhere", "Told", "{}").with_id(sent_by(number));
    Append::new(stream(to), expected, vec![event(1), event(2)]).with_dispatches(vec![dispatch])
}

/// The id of the dispatch of an append.
pub(super) fn sent_by(number: u128) -> MessageId {
    Uuid::from_u128(number * 10).into()
}

/// A message that adds to the counter 0.
pub(super) fn add(id: u128, amount: u64) -> Mail {
    Mail::command(id, "counter", "0", "Add", &format!(r#"{{"amount":{amount}}}"#))
}

/// Waits until the sender of a message was told something final.
pub(super) fn settles(world: &mut EventsWorld, letter: usize) -> Result<(), Failure> {
    world.run_until("it_is_settled", seconds(3), |world| world.told(letter).is_some())
}

/// Waits until the reader has come to the end.
pub(super) fn is_read(world: &mut EventsWorld) -> Result<(), Failure> {
    world.run_until("it_is_read", seconds(3), EventsWorld::readers_are_there)
}
