//! 61: the row of a node that lives is deleted. The node registers again with all it can do, and its daemons run on as they
//! are.

use super::{fleet, seconds};
use crate::cluster::ClusterBlow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 6))?;
    let node = if seed.is_multiple_of(2) { fleet::leader(&world)? } else { fleet::follower(&world)? };
    let places = |world: &crate::cluster::ClusterWorld| {
        (0..6).map(|number| world.runs_on(&fleet::name(number))).collect::<Vec<_>>()
    };
    let (before, seat) = (places(&world), world.seat(node));
    world.inflict(ClusterBlow::DeleteRow(node));
    world.run_for(seconds(8))?;
    fleet::settles(&mut world, seconds(2))?;
    let same = places(&world) == before && world.seat(node) == seat;
    world.expect("its_daemons_run_on", same, || format!("{before:?} became {:?}", places(&world)))
}
