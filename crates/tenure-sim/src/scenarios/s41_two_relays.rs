//! 41: a relay is stopped in the middle of a flight, another one takes office, and the first goes on with what it has.

use std::time::Duration;

use super::post::{arrives, id, send, settings, world};
use super::seconds;
use crate::faults::Blow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (old, term) = world.run_until_held(seconds(5))?;
    world.outbox_mut().receiver.mood.takes = Duration::from_millis(50);
    send(&mut world, "a", 1..=9);
    world.run_until("two_effects", seconds(5), |world| world.outbox().receiver.ledger.len() == 2)?;
    world.inflict(Blow::Pause(old, seconds(20)));
    world.run_until("another_relays", seconds(15), |world| world.outbox().receiver.ledger.len() == 5)?;
    // Both at once: the old one sees the answer it was stopped at, and sends the next row of its flight.
    world.resume(old);
    for version in 1..=9 {
        arrives(&mut world, id("a", version), seconds(10))?;
        let attempts = world.outbox().attempts_at(&id("a", version));
        world.expect("no_attempt_burnt_twice", attempts == 1, || format!("{attempts} attempts"))?;
    }
    world.run_for(seconds(5))?;
    let (_, later) = world.run_until_held(seconds(5))?;
    let refused = world.tally().records_refused;
    world.expect("the_first_is_fenced", later > term && refused > 0, || format!("{refused} refused"))
}
