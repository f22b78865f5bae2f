//! 45: a message of an ordered source is dead. By choice its source goes on, or stands still and says so.

use tenure_core::outbox::{OnDead, State};

use super::post::{arrives, effects, id, on_dead, send, state, world};
use super::seconds;
use crate::faults::Blow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    skipped(seed)?;
    halted(seed, true)?;
    halted(seed, false)
}

fn skipped(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, on_dead(OnDead::Skip), |_| {});
    world.outbox_mut().receiver.refusing.insert(id("a", 1));
    world.run_until_held(seconds(5))?;
    send(&mut world, "a", 1..=3);
    arrives(&mut world, id("a", 3), seconds(3))?;
    let dead = state(&world, id("a", 1));
    world.expect("dead", dead == Some(State::Dead), || format!("{dead:?}"))
}

fn halted(seed: u64, retry: bool) -> Result<(), Failure> {
    let mut world = world(seed, on_dead(OnDead::Halt), |_| {});
    world.outbox_mut().receiver.refusing.insert(id("a", 1));
    let (holder, _) = world.run_until_held(seconds(5))?;
    send(&mut world, "a", 1..=3);
    send(&mut world, "b", 1..=3);
    arrives(&mut world, id("b", 3), seconds(3))?;
    world.run_until("dead", seconds(3), |world| state(world, id("a", 1)) == Some(State::Dead))?;
    // Also for a relay that knows nothing of it.
    world.inflict(Blow::Resign(holder, seconds(5)));
    world.run_for(seconds(10))?;
    let early = effects(&world, id("a", 2)) + effects(&world, id("a", 3));
    let told = world.outbox().tables.stats(world.now).halted_sources;
    world.expect("the_source_stands_still", (early, told) == (0, 1), || {
        format!("{early} effects, {told} halted sources")
    })?;
    world.outbox_mut().receiver.refusing.clear();
    if retry {
        world.retry_all();
        arrives(&mut world, id("a", 1), seconds(4))?;
    } else {
        world.discard_all();
    }
    arrives(&mut world, id("a", 2), seconds(4))?;
    arrives(&mut world, id("a", 3), seconds(4))
}
