//! 55: a message comes again long after its effect, when thousands of others and a restart of everything lie between.

use super::history::{self, add, settles};
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
    world.expect("it_came_again", deliveries > 501, || format!("{deliveries} deliveries"))?;
    at_an_entity(seed)
}

/// An entity remembers few messages in memory; the inbox remembers the rest.
fn at_an_entity(seed: u64) -> Result<(), Failure> {
    let mut world = history::hosts(seed);
    let letters: Vec<usize> = (1..=12).map(|id| world.write_letter(add(id, 2))).collect();
    for letter in &letters {
        world.hand_in(0, *letter);
        settles(&mut world, *letter)?;
    }
    world.hand_in(0, letters[0]);
    world.run_for(seconds(1))?;
    world.crash(0, seconds(1));
    world.run_for(seconds(2))?;
    world.hand_in(0, letters[0]);
    world.hand_in(1, letters[0]);
    world.run_for(seconds(2))?;
    let (sum, duplicates) = (world.sum_of(0)?, world.tally.duplicates);
    world.expect("one_effect", (sum, duplicates) == (24, 3), || format!("{sum}, {duplicates} duplicates"))
}
