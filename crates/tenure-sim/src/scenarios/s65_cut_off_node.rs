//! 65: a node is cut off while it runs daemons. It stops them by its own trust before others start them.

use super::{fleet, seconds};
use crate::cluster::ClusterBlow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut plan = fleet::plan(seed, 3, 6);
    if seed.is_multiple_of(3) {
        plan.settings.presence = None;
        plan.settings.election.presence = None;
    }
    let mut world = fleet::at_rest(plan)?;
    let node = if seed.is_multiple_of(2) { fleet::leader(&world)? } else { fleet::follower(&world)? };
    let daemon = fleet::daemon_on(&world, node)?;
    world.inflict(ClusterBlow::Cut(node, seconds(40)));
    world.run_until("it_runs_elsewhere", seconds(20), |world| match world.runs_on(&daemon) {
        Some((at, _)) if at != node => Ok(()),
        other => Err(format!("it runs at {other:?}")),
    })?;
    world.run_for(seconds(40))?;
    fleet::settles(&mut world, seconds(20))
}
