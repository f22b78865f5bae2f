//! 53: the same delivery arrives twice at once, at a receiver and at two hosts of one entity. One effect, and both are told
//! that it is accepted.

use std::time::Duration;

use super::history::{self, add, settles};
use super::post::{arrives, id, send, settings, world};
use super::seconds;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.snare(Snare::twice(holder, Kind::Deliver, Duration::from_millis(1)));
    send(&mut world, "a", 1..=2);
    arrives(&mut world, id("a", 1), seconds(3))?;
    arrives(&mut world, id("a", 2), seconds(3))?;
    let deliveries = world.outbox().receiver.deliveries;
    let attempts = world.outbox().attempts_at(&id("a", 1));
    world.expect("both_arrived", (deliveries, attempts) == (3, 1), || {
        format!("{deliveries} deliveries, {attempts} attempts")
    })?;
    on_two_hosts(seed)
}

fn on_two_hosts(seed: u64) -> Result<(), Failure> {
    let mut world = history::hosts(seed);
    let letter = world.write_letter(add(1, 5));
    for host in 0..2 {
        world.hand_in(host, letter);
    }
    settles(&mut world, letter)?;
    world.run_for(seconds(2))?;
    let (sum, deliveries) = (world.sum_of(0)?, world.tally.deliveries);
    world.expect("one_effect", (sum, deliveries) == (5, 2), || format!("{sum}, {deliveries} deliveries"))
}
