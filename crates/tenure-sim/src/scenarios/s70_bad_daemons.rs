//! 70: daemons fail at their start or hang when they are to stop. Others are left alone; what fails goes elsewhere after a
//! budget, what hangs is cut off in time.

use tenure_core::cluster::Steering;

use super::{fleet, seconds};
use crate::plan::Manners;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    hanging(seed)?;
    failing(seed)
}

fn hanging(seed: u64) -> Result<(), Failure> {
    let mut plan = fleet::plan(seed, 3, 3);
    plan.manners = Manners { hangs: 1000, ..Manners::GOOD };
    plan.settings.drain = seconds(8);
    let mut world = fleet::at_rest(plan)?;
    let from = fleet::follower(&world)?;
    let (daemon, to) = (fleet::daemon_on(&world, from)?, (from + 1) % 3);
    let there = world.name(to);
    let forced = world.tally.forced;
    fleet::steer(&mut world, &daemon, Steering::Move { to: there })?;
    world.run_until("it_moves", seconds(12), |world| match world.runs_on(&daemon) {
        Some((at, _)) if at == to => Ok(()),
        elsewhere => Err(format!("it is at {elsewhere:?}")),
    })?;
    world.expect("it_was_not_forced", world.tally.forced == forced, || "it was".into())
}

fn failing(seed: u64) -> Result<(), Failure> {
    let mut plan = fleet::plan(seed, 3, 3);
    plan.manners = Manners { fails: 1000, ..Manners::GOOD };
    plan.settings.cool_down = seconds(4);
    let mut world = crate::cluster::ClusterWorld::new(plan);
    world.run_for(seconds(30))?;
    let tally = world.tally;
    world.expect("it_is_given_back", tally.failed >= 3, || format!("{tally}"))?;
    // Three daemons, each placed anew only after a budget of restarts.
    world.expect("not_round_and_round", tally.placed <= 60, || format!("{tally}"))?;
    world.calm_down();
    fleet::settles(&mut world, seconds(60))
}
