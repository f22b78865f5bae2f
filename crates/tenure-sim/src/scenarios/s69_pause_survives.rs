//! 69: an operator pauses a daemon while its node dies and the leader changes. It stays paused until it is resumed.

use tenure_core::cluster::Steering;

use super::{fleet, seconds};
use crate::cluster::ClusterBlow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 4, 4))?;
    let (leader, node) = (fleet::leader(&world)?, fleet::follower(&world)?);
    let daemon = fleet::daemon_on(&world, node)?;
    fleet::steer(&mut world, &daemon, Steering::Pause)?;
    world.inflict(ClusterBlow::Crash { node, silent: seed.is_multiple_of(2), down_for: seconds(2) });
    world.inflict(ClusterBlow::Resign(leader));
    world.run_for(seconds(25))?;
    fleet::settles(&mut world, seconds(10))?;
    let runs = world.runs_on(&daemon);
    world.expect("it_stays_paused", runs.is_none(), || format!("it runs: {runs:?}"))?;
    fleet::steer(&mut world, &daemon, Steering::Resume)?;
    world.run_until("it_runs_again", seconds(10), |world| {
        world.runs_on(&daemon).map(drop).ok_or_else(|| "it does not".into())
    })
}
