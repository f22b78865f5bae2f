//! 6: a renewal succeeds at once and is answered late. Trust counts from its start, not from its answer.

use std::time::Duration;

use super::{seconds, without_presence};
use crate::faults::Blow;
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::report::Failure;
use crate::world::message::Kind;
use crate::world::{Snare, World};

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut plan = Plan::calm(seed, 2, &without_presence());
    plan.nodes.iter_mut().for_each(|node| node.patience.call = Duration::from_millis(2500));
    let mut world = World::new(&plan, Oracle::new());
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.snare(Snare::late_answer(holder, Kind::Renew, Duration::from_millis(1800)));
    let renewals = |world: &World| world.store.row.as_ref().map_or(0, |row| row.renewals);
    world.run_until("renewal_arrives", seconds(5), |world| renewals(world) == 1)?;
    world.inflict(Blow::Cut(holder, seconds(30)));
    let expires_at = world.store.row.as_ref().map_or(world.now, |row| row.expires_at);
    world.run_for(seconds(3))?;
    world.expect("slow_answer_renews", world.believes(holder), || "the holder gave up too early".into())?;
    world.run_for(world.now.until(expires_at))?;
    world.expect("no_trust_beyond_the_ttl", !world.believes(holder), || "it still believes".into())?;
    world.run_until_held(seconds(5)).map(drop)
}
