//! 1: a leader is stopped for longer than its ttl, another is elected, the old one goes on in the middle of a write.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds};
use crate::faults::Blow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 2, &LeaseSettings::default());
    let (old, term) = world.run_until_held(seconds(5))?;
    world.run_for(seconds(5))?;
    world.inflict(Blow::Pause(old, seconds(20)));
    world.run_for(seconds(12))?;
    let (new, later) = world.run_until_held(seconds(1))?;
    world
        .expect("another_is_elected", new != old && later > term, || format!("n{new} holds term {later}"))?;
    let refused = world.tally().writes_refused;
    world.run_until("half_done_write_is_refused", seconds(10), |world| {
        world.tally().writes_refused > refused
    })?;
    world.run_for(Duration::from_millis(100))?;
    world
        .expect("old_one_steps_down", !world.believes(old) && world.believes(new), || "it does not".into())?;
    world.run_for(seconds(10))?;
    let lasting = world.store.row.as_ref().map(|row| row.term);
    world.expect("new_term_is_untouched", lasting == Some(later), || format!("the row stands at {lasting:?}"))
}
