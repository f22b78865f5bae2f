//! 13: steady clocks run at different rates. Within the documented ratio beliefs never overlap; beyond it they do, and
//! the fence still protects every write.

use tenure_core::lease::LeaseSettings;

use super::{seconds, without_presence};
use crate::faults::Blow;
use crate::invariants::OneBelieverWithinDrift;
use crate::oracle::Oracle;
use crate::plan::{Plan, drift_ppm_max};
use crate::report::Failure;
use crate::world::World;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    within_the_ratio(seed)?;
    beyond_the_ratio(seed)
}

fn within_the_ratio(seed: u64) -> Result<(), Failure> {
    let settings = if seed.is_multiple_of(2) { LeaseSettings::default() } else { without_presence() };
    let most = drift_ppm_max(&settings);
    let mut plan = Plan::calm(seed, 3, &settings);
    plan.nodes =
        plan.nodes.into_iter().zip([-most, most, 0]).map(|(node, drift)| node.drifting(drift)).collect();
    let mut world = World::new(&plan, Oracle::new());
    for _ in 0..6 {
        let (holder, _) = world.run_until_held(seconds(12))?;
        world.run_for(seconds(4))?;
        world.inflict(Blow::Cut(holder, seconds(10)));
        world.run_for(seconds(8))?;
    }
    Ok(())
}

fn beyond_the_ratio(seed: u64) -> Result<(), Failure> {
    let mut plan = Plan::calm(seed, 2, &without_presence());
    plan.nodes = plan.nodes.into_iter().map(|node| node.drifting(-400_000)).collect();
    let mut world = World::new(&plan, Oracle::without(OneBelieverWithinDrift::NAME));
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.inflict(Blow::Cut(holder, seconds(30)));
    world.run_until("beliefs_overlap", seconds(10), |world| world.believers() == 2)?;
    world.inflict(Blow::Cut(holder, seconds(0)));
    world.run_until("old_one_is_told", seconds(10), |world| {
        let tally = world.tally();
        tally.writes_refused + tally.renewals_lost > 0
    })
}
