//! 12: wall clocks are off by hours, and some are set. Nobody takes a lease early, nobody gives one up.

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds, without_presence};
use crate::faults::Blow;
use crate::report::Failure;

const HOUR_MICROS: i64 = 3_600_000_000;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let settings = if seed.is_multiple_of(2) { LeaseSettings::default() } else { without_presence() };
    let mut world = at_calm(seed, 3, &settings);
    world.inflict(Blow::StepClock(0, 5 * HOUR_MICROS));
    world.inflict(Blow::StepClock(1, -5 * HOUR_MICROS));
    let (holder, _) = world.run_until_held(seconds(5))?;
    for round in 0..6 {
        world.run_for(seconds(7))?;
        world.inflict(Blow::StepClock(round % 3, -2 * HOUR_MICROS));
        world.inflict(Blow::StepClock(holder, HOUR_MICROS));
    }
    let (granted, refused) = (world.tally().granted, world.tally().writes_refused);
    world.expect("nobody_notices", granted == 1 && refused == 0 && world.believes(holder), || {
        format!("{granted} grants, {refused} writes refused")
    })
}
