//! 42: a record arrives when the message is long settled: from a deposed relay, or doubled on its way.

use super::post::{arrives, id, send, settings, state, world};
use super::seconds;
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    of_a_deposed_relay(seed)?;
    doubled(seed)
}

fn of_a_deposed_relay(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (old, _) = world.run_until_held(seconds(5))?;
    world.outbox_mut().receiver.refusing.insert(id("a", 1));
    world.snare(Snare::late_request(old, Kind::Record, seconds(15)));
    send(&mut world, "a", 1..=1);
    world.run_until("delivered", seconds(3), |world| world.outbox().receiver.deliveries == 1)?;
    // Long enough for the verdict to be heard and its record to be sent.
    world.run_for(std::time::Duration::from_millis(20))?;
    world.inflict(Blow::Pause(old, seconds(30)));
    world.outbox_mut().receiver.refusing.clear();
    arrives(&mut world, id("a", 1), seconds(12))?;
    let refused = world.tally().records_refused;
    world
        .run_until("late_record_is_refused", seconds(15), |world| world.tally().records_refused > refused)?;
    let now = state(&world, id("a", 1));
    world.expect("still_dispatched", now == Some(tenure_core::outbox::State::Dispatched), || {
        format!("{now:?}")
    })
}

fn doubled(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.outbox_mut().receiver.failing.insert(id("a", 1));
    world.snare(Snare::twice(holder, Kind::Record, seconds(5)));
    send(&mut world, "a", 1..=1);
    world.run_until("it_failed", seconds(3), |world| world.outbox().attempts_at(&id("a", 1)) == 1)?;
    world.outbox_mut().receiver.failing.clear();
    arrives(&mut world, id("a", 1), seconds(3))?;
    // The copy says that attempt 1 failed and is to be repeated.
    world.run_for(seconds(6))?;
    let attempts = world.outbox().attempts_at(&id("a", 1));
    world.expect("two_attempts", attempts == 2, || format!("{attempts} attempts"))?;
    arrives(&mut world, id("a", 1), seconds(0))
}
