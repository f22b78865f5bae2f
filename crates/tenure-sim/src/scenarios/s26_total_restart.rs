//! 26: all processes restart with new incarnations against a row that has not expired.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds, without_presence};
use crate::faults::Blow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let settings = if seed.is_multiple_of(2) { LeaseSettings::default() } else { without_presence() };
    let mut world = at_calm(seed, 3, &settings);
    let (_, former) = world.run_until_held(seconds(5))?;
    world.run_for(seconds(5))?;
    for node in 0..3 {
        world.inflict(Blow::Crash { node, silent: true, down_for: Duration::from_millis(100) });
    }
    let bound = settings.ttl + settings.poll.mul_f64(1.25) + Duration::from_millis(200);
    let (_, term) = world.run_until_held(bound)?;
    world.expect("a_new_term", term > former, || format!("term {term} after {former}"))
}
