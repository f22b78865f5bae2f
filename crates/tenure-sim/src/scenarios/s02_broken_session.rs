//! 2: the server ends the holder's session again and again. The row carries the holder; nobody takes its office.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds};
use crate::faults::Blow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 3, &LeaseSettings::default());
    let (holder, _) = world.run_until_held(seconds(5))?;
    for round in 0..8 {
        world.run_for(Duration::from_millis(2900 + 130 * round))?;
        world.inflict(Blow::BreakSession { node: holder, told: round % 2 == 0 });
    }
    world.run_for(seconds(10))?;
    let granted = world.tally().granted;
    world.expect("no_flap", granted == 1 && world.believes(holder), || format!("{granted} grants"))
}
