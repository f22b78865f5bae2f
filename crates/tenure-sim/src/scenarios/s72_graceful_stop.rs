//! 72: a node leaves in good order. Its daemons run elsewhere and its row is gone before any ttl could end.

use super::{fleet, seconds};
use crate::cluster::ClusterBlow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 6))?;
    let node = if seed.is_multiple_of(2) { fleet::leader(&world)? } else { fleet::follower(&world)? };
    let (left, confirmed) = (world.tally.left, world.tally.confirmed);
    world.inflict(ClusterBlow::Leave { node, down_for: seconds(600) });
    world.run_until("it_has_left", seconds(5), |world| {
        if world.tally.left > left { Ok(()) } else { Err("it is still there".into()) }
    })?;
    world.expect("it_confirmed_first", world.tally.confirmed > confirmed, || "it did not".into())?;
    world.run_until("everything_runs_elsewhere", seconds(4), |world| {
        (0..6).map(fleet::name).try_for_each(|daemon| {
            world.runs_on(&daemon).map(drop).ok_or_else(|| format!("{daemon} does not run"))
        })
    })?;
    fleet::settles(&mut world, seconds(2))
}
