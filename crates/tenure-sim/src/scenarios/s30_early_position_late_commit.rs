//! 30: a position is taken early and committed late, and a reader comes between. It waits, and skips nothing.

use tenure_core::event::{Expected, Position};

use super::history::{append, is_read, world};
use super::seconds;
use crate::events::Stage;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed);
    let early = world.open(append("early", Expected::NONE, 1), Some(Stage::Taken));
    world.run_for(seconds(1))?;
    world.open(append("late", Expected::NONE, 2), None);
    world.run_for(seconds(1))?;
    let (at, stalls, handled) = (world.checkpoint(0), world.tally.stalls, world.tally.handled);
    world.expect("the_reader_waits", at == Position::START && stalls > 0 && handled == 0, || {
        format!("the checkpoint is at {at}, {stalls} pages were held up, {handled} events handled")
    })?;
    world.let_go(early);
    is_read(&mut world)?;
    let handled = world.tally.handled;
    world.expect("nothing_is_skipped", handled == 4, || format!("{handled} events were handled"))
}
