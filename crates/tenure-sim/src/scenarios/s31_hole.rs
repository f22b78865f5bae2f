//! 31: an append that is rolled back leaves a hole. A reader is held up for as long as it may still be filled, and passes it
//! with its next look.

use tenure_core::event::{Expected, Position};

use super::history::{append, world};
use super::seconds;
use crate::events::{EventsWorld, Stage};
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed);
    let hole = world.open(append("hole", Expected::NONE, 1), Some(Stage::Written));
    world.run_for(seconds(1))?;
    world.open(append("a", Expected::NONE, 2), None);
    world.run_for(seconds(1))?;
    let at = world.checkpoint(0);
    world.expect("the_reader_waits", at == Position::START, || format!("the checkpoint is at {at}"))?;
    world.roll_back(hole);
    // One look, one step of the checkpoint: a poll, and the longest time between two steps.
    let settings = world.plan.subscriptions[0].settings.clone();
    let bound = settings.poll * 2 + settings.checkpoint_after;
    world.run_until("the_hole_is_passed", bound, EventsWorld::readers_are_there)?;
    let handled = world.tally.handled;
    world.expect("what_follows_is_read", handled == 2, || format!("{handled} events were handled"))
}
