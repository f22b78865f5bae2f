//! What the stories about a cluster have in common: one with some daemons, and what they wait for.

use std::time::Duration;

use tenure_core::cluster::{Answer, DaemonName, Order, Steering};

use super::seconds;
use crate::cluster::ClusterWorld;
use crate::plan::{ClusterPlan, job};
use crate::report::Failure;

/// A plan of equal nodes and daemons in which nothing goes wrong but what the story lets go wrong.
pub(super) fn plan(seed: u64, nodes: usize, jobs: u64) -> ClusterPlan {
    ClusterPlan::calm(seed, nodes, (0..jobs).map(job).collect())
}

/// Such a world, once every daemon has its place and nobody came or went for a while.
pub(super) fn at_rest(plan: ClusterPlan) -> Result<ClusterWorld, Failure> {
    let mut world = ClusterWorld::new(plan);
    settles(&mut world, seconds(20))?;
    world.run_for(seconds(15))?;
    settles(&mut world, seconds(10))?;
    Ok(world)
}

/// Every daemon finds its place.
pub(super) fn settles(world: &mut ClusterWorld, at_most: Duration) -> Result<(), Failure> {
    world.run_until("every_daemon_finds_its_place", at_most, ClusterWorld::is_settled)
}

/// The name of a daemon.
pub(super) fn name(number: u64) -> DaemonName {
    job(number).name
}

/// Who leads.
pub(super) fn leader(world: &ClusterWorld) -> Result<usize, Failure> {
    world.leader().ok_or_else(|| world.failure("someone_leads", "nobody does".into()))
}

/// Someone who does not lead.
pub(super) fn follower(world: &ClusterWorld) -> Result<usize, Failure> {
    let leader = leader(world)?;
    Ok(if leader == 0 { 1 } else { 0 })
}

/// A daemon that runs on a node.
pub(super) fn daemon_on(world: &ClusterWorld, node: usize) -> Result<DaemonName, Failure> {
    let numbers = 0..world.plan.daemons.len() as u64;
    let there = numbers.map(name).find(|daemon| world.runs_on(daemon).is_some_and(|(at, _)| at == node));
    there.ok_or_else(|| world.failure("something_runs_there", format!("nothing runs on n{node}")))
}

/// An operator steers a daemon, and may.
pub(super) fn steer(
    world: &mut ClusterWorld,
    daemon: &DaemonName,
    steering: Steering,
) -> Result<(), Failure> {
    let deadlines = world.plan.settings.deadlines();
    let order = Order::Steer { daemon: daemon.clone(), steering, by: "operator".to_owned(), deadlines };
    let answer = world.order(order);
    world.expect("it_can_be_steered", matches!(answer, Answer::Done(_)), || format!("{answer:?}"))
}

/// Someone declares one more daemon.
pub(super) fn declare(world: &mut ClusterWorld, spec: tenure_core::cluster::DaemonSpec) {
    let deadlines = world.plan.settings.deadlines();
    world.order(Order::Declare { specs: vec![spec], deadlines });
}
