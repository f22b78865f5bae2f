//! 63: what a deposed leader ordered arrives after another was elected. It is refused, and no generation changes.

use tenure_core::cluster::Order;

use super::{fleet, seconds};
use crate::cluster::{Call, ClusterBlow, Trap};
use crate::plan::job;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 3))?;
    let leader = fleet::leader(&world)?;
    let places = |call: &Call| matches!(call, Call::Apply(order) if matches!(**order, Order::Place { .. }));
    world.trap(Trap::late(leader, places, seconds(11)));
    fleet::declare(&mut world, job(3));
    // Long enough for it to see the new daemon and to send the order.
    world.run_for(seconds(2))?;
    world.inflict(ClusterBlow::Pause(leader, seconds(25)));
    world.run_for(seconds(7))?;
    let (row, fenced) = (world.row(&fleet::name(3)), world.tally.fenced);
    let generation = row.and_then(|row| row.generation);
    world.expect("another_leads_and_places", generation.is_some(), || "it is not placed".into())?;
    world.run_for(seconds(4))?;
    let after = world.row(&fleet::name(3)).and_then(|row| row.generation);
    world.expect("the_order_is_refused", world.tally.fenced > fenced, || "nothing was refused".into())?;
    world
        .expect("no_generation_changes", after == generation, || format!("{generation:?}, then {after:?}"))?;
    world.run_for(seconds(15))?;
    fleet::settles(&mut world, seconds(20))
}
