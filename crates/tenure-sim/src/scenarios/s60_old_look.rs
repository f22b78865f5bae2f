//! 60: a leader acts on a look that is older than what the node has done since. No row of a node that lives is removed, and
//! nothing is taken from it.

use tenure_core::cluster::Order;

use super::{fleet, seconds};
use crate::cluster::{Call, ClusterBlow, Trap};
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 6))?;
    let (leader, node) = (fleet::leader(&world)?, fleet::follower(&world)?);
    let places = |call: &Call| matches!(call, Call::Apply(order) if matches!(**order, Order::Place { .. }));
    world.trap(Trap::late(leader, places, seconds(11)));
    world.inflict(ClusterBlow::Crash { node, silent: false, down_for: seconds(4) });
    world.run_for(seconds(10))?;
    let (seat, row) = (world.seat(node), world.revision());
    world.expect("it_is_back", seat.is_some(), || format!("revision {row}"))?;
    world.run_for(seconds(10))?;
    world.expect("it_stays", world.seat(node) == seat, || format!("{:?}", world.seat(node)))?;
    fleet::settles(&mut world, seconds(20))
}
