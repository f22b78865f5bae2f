//! 68: a node flaps, and then all are restarted one after another. Each time only what must move moves, and once it is quiet
//! everything comes to rest.

use super::{fleet, seconds};
use crate::cluster::ClusterBlow;
use crate::report::Failure;

const JOBS: u64 = 16;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 4, JOBS))?;
    let node = fleet::follower(&world)?;
    let before = world.tally.placed;
    for _ in 0..6 {
        world.inflict(ClusterBlow::Crash { node, silent: false, down_for: seconds(1) });
        world.run_for(seconds(4))?;
    }
    // Its own ones are placed anew when it dies, and it gets none to even the load while it comes and goes. Should the leader
    // see it only when it is back, they are placed there once more: a death never costs more than what the node had.
    let moved = world.tally.placed - before;
    world.expect("only_what_must_move_moves", moved <= 6 * JOBS / 4, || format!("{moved} placements"))?;
    fleet::settles(&mut world, seconds(30))?;
    world.run_for(seconds(30))?;
    fleet::settles(&mut world, seconds(10))?;
    let before = world.tally.placed;
    for node in 0..4 {
        world.inflict(ClusterBlow::Leave { node, down_for: seconds(1) });
        world.run_for(seconds(4))?;
    }
    // What moves away from one may move again with the next.
    let moved = world.tally.placed - before;
    world.expect("a_deploy_moves_each_a_few_times", moved <= JOBS * 3, || format!("{moved} placements"))?;
    fleet::settles(&mut world, seconds(30))?;
    world.run_for(seconds(20))?;
    let still = world.revision();
    world.run_for(seconds(30))?;
    world.expect("it_comes_to_rest", world.revision() == still, || "something moves".into())
}
