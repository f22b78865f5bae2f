//! 55: a message comes again long after its effect, when thousands of others and a restart of everything lie between.

use super::post::{arrives, effects, id, send, settings, world};
use super::seconds;
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.snare(Snare::lose_answer(holder, Kind::Deliver));
    send(&mut world, "a", 1..=1);
    world.run_until("it_took_effect", seconds(3), |world| effects(world, id("a", 1)) == 1)?;
    for node in 0..2 {
        world.inflict(Blow::Crash { node, silent: true, down_for: seconds(60) });
    }
    world.run_for(seconds(1))?;
    // Others come first when the processes are back.
    send(&mut world, "Z", 1..=1000);
    world.run_until("others_come_between", seconds(75), |world| effects(world, id("Z", 500)) == 1)?;
    arrives(&mut world, id("a", 1), seconds(30))?;
    let deliveries = world.outbox().receiver.deliveries;
    world.expect("it_came_again", deliveries > 501, || format!("{deliveries} deliveries"))
}
