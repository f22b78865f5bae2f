//! 40: a message was delivered, and its outcome never recorded: lost on the way, or gone with the process.

use super::post::{arrives, id, send, settings, world};
use super::seconds;
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (holder, _) = world.run_until_held(seconds(5))?;
    // Lost before and after its effect, in an office that goes on: the same is recorded again.
    world.snare(Snare::lose_request(holder, Kind::Record));
    send(&mut world, "a", 1..=1);
    arrives(&mut world, id("a", 1), seconds(6))?;
    world.snare(Snare::lose_answer(holder, Kind::Record));
    send(&mut world, "a", 2..=2);
    arrives(&mut world, id("a", 2), seconds(6))?;
    // Gone with the process: delivered once more, by another.
    world.snare(Snare::lose_request(holder, Kind::Record));
    let deliveries = world.outbox().receiver.deliveries;
    send(&mut world, "a", 3..=3);
    world.run_until("delivered", seconds(3), |world| world.outbox().receiver.deliveries > deliveries)?;
    world.inflict(Blow::Crash { node: holder, silent: true, down_for: seconds(30) });
    arrives(&mut world, id("a", 3), seconds(20))?;
    let again = world.outbox().receiver.deliveries - deliveries;
    world.expect("delivered_again", again >= 2, || format!("{again} deliveries"))
}
