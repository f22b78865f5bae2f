//! The storm and the calm of a cluster: everything at once, and then the proof that every daemon finds its place, that the
//! dead are forgotten, and that nothing moves any more.

use std::time::Duration;

use crate::cluster::{ClusterBlow, ClusterTally, ClusterWorld};
use crate::faults::LATEST;
use crate::plan::ClusterPlan;
use crate::report::Failure;

/// Longer than the rest of the run.
const FOR_GOOD: Duration = Duration::from_secs(3600);
/// How long nothing must have changed.
const STILL: Duration = Duration::from_secs(20);

/// Runs the chaos of one seed.
pub(super) fn run(seed: u64) -> Result<(ClusterTally, u64), Failure> {
    let plan = ClusterPlan::chaos(seed);
    let (storm, settings, count) = (plan.storm, plan.settings.clone(), plan.nodes.len());
    let mut world = ClusterWorld::new(plan);
    world.run_for(storm)?;
    world.calm_down();
    // What was sent in the storm may still arrive, and may still upset things.
    world.run_for(LATEST)?;
    // A lease runs out, someone is elected, nodes that do not answer are waited for, and once more for what follows.
    let leases = settings.node_ttl + settings.election.ttl + settings.election.poll * 2;
    let bound = leases + (settings.acknowledge + settings.drain) * 2 + Duration::from_secs(10);
    world.run_until("every_daemon_finds_its_place", bound, ClusterWorld::is_settled)?;
    // One dies for good, if enough are left.
    if count > 3 {
        let node = usize::try_from(seed).unwrap_or_default() % count;
        let silent = seed.is_multiple_of(2);
        world.inflict(ClusterBlow::Crash { node, silent, down_for: FOR_GOOD });
        world.run_until("the_daemons_of_the_dead_find_a_place", bound, ClusterWorld::is_settled)?;
    }
    stands_still(&mut world, settings.settle * 4 + bound)?;
    Ok((world.tally, world.trace_hash()))
}

/// Once all is as it should be, nothing changes any more.
fn stands_still(world: &mut ClusterWorld, at_most: Duration) -> Result<(), Failure> {
    let until = world.time().after(at_most);
    loop {
        let before = world.revision();
        world.run_for(STILL)?;
        if world.revision() == before && world.is_settled().is_ok() {
            return Ok(());
        }
        world.expect("nothing_moves_any_more", world.time() < until, || {
            format!("{} changes in the last {STILL:?}", world.revision() - before)
        })?;
    }
}
