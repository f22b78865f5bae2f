//! What the stories about the outbox have in common: a world with one, and letters to send.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;
use tenure_core::outbox::{
    MessageId, NewMessage, OnDead, RelaySettings, RetryPolicy, State, deterministic_id,
};

use crate::oracle::Oracle;
use crate::plan::{OutboxPlan, Plan};
use crate::report::Failure;
use crate::world::World;
use crate::world::outbox::{Draft, Ending};

/// Settings with short pauses, and a budget that lasts.
pub(super) fn settings() -> RelaySettings {
    RelaySettings {
        retry: RetryPolicy {
            max_attempts: 20,
            first: Duration::from_millis(200),
            cap: Duration::from_secs(2),
        },
        deadline: Duration::from_secs(2),
        poll: Duration::from_secs(2),
        ..RelaySettings::default()
    }
}

/// The same with one of the two policies.
pub(super) fn on_dead(on_dead: OnDead) -> RelaySettings {
    RelaySettings { on_dead, ..settings() }
}

/// A world of two nodes with an outbox, in which nothing goes wrong but what the story lets go wrong.
pub(super) fn world(seed: u64, settings: RelaySettings, change: impl FnOnce(&mut OutboxPlan)) -> World {
    let mut plan = Plan::calm(seed, 2, &LeaseSettings::default());
    let mut outbox = OutboxPlan::calm(seed, settings);
    change(&mut outbox);
    plan.outbox = Some(outbox);
    World::new(&plan, Oracle::new())
}

/// The id of what a source sends under a version.
pub(super) fn id(source: &str, version: i64) -> MessageId {
    deterministic_id(source, version, 0)
}

/// What a source sends under a version.
pub(super) fn letter(source: &str, version: i64) -> Draft {
    let message = NewMessage::bytes("topic", "Type", "text/plain", format!("{source}/{version}"));
    Draft::Message(message.from_version(source, version, 0))
}

/// Commits the versions of a source, all in one transaction.
pub(super) fn send(world: &mut World, source: &str, versions: std::ops::RangeInclusive<i64>) {
    let letters = versions.map(|version| letter(source, version)).collect();
    world.transact(letters, Ending::Commit, Duration::from_micros(100));
}

/// How often a message took effect.
pub(super) fn effects(world: &World, id: MessageId) -> usize {
    world.outbox().receiver.ledger.iter().filter(|effect| **effect == id).count()
}

pub(super) fn state(world: &World, id: MessageId) -> Option<State> {
    world.outbox().state_of(&id)
}

/// Waits until a message is dispatched, and sees that it took effect once.
pub(super) fn arrives(world: &mut World, id: MessageId, at_most: Duration) -> Result<(), Failure> {
    world.run_until("it_is_dispatched", at_most, |world| state(world, id) == Some(State::Dispatched))?;
    let count = effects(world, id);
    world.expect("one_effect", count == 1, || format!("{count} effects"))
}
