//! 59: a leader has no turn for minutes. Its heartbeat is written all the same, nobody is ejected and nothing moves; what
//! it missed it does afterwards.

use std::time::Duration;

use super::{fleet, seconds};
use crate::cluster::ClusterBlow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 6))?;
    let (leader, before) = (fleet::leader(&world)?, world.revision());
    let seat = world.seat(leader);
    world.inflict(ClusterBlow::Busy { node: leader, office: Duration::ZERO, lead: seconds(180) });
    world.run_for(seconds(120))?;
    let kept = world.seat(leader) == seat && world.leader() == Some(leader);
    world
        .expect("a_busy_leader_keeps_its_leases", kept, || format!("its seat is {:?}", world.seat(leader)))?;
    world.expect("nothing_moves", world.revision() == before, || "something changed".into())?;
    let node = fleet::follower(&world)?;
    world.inflict(ClusterBlow::Crash { node, silent: false, down_for: seconds(1) });
    world.run_for(seconds(70))?;
    fleet::settles(&mut world, seconds(20))
}
