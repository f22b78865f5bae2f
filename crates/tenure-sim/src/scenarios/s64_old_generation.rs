//! 64: an acknowledgement and a confirmation of an old generation arrive. They are refused, and nothing is started or taken
//! for them.

use tenure_core::cluster::{Order, Steering};

use super::{fleet, seconds};
use crate::cluster::{Call, Trap};
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 3))?;
    let from = fleet::follower(&world)?;
    let daemon = fleet::daemon_on(&world, from)?;
    let to = (from + 1) % 3;
    let says = |call: &Call| matches!(call, Call::Apply(order) if matches!(**order, Order::Acknowledge { .. } | Order::Confirm { .. }));
    // The confirmation of the one and the acknowledgement of the other come again, after it has moved on and back.
    world.trap(Trap::twice(from, says, seconds(9)));
    world.trap(Trap::twice(to, says, seconds(9)));
    for at in [to, from] {
        let there = world.name(at);
        fleet::steer(&mut world, &daemon, Steering::Move { to: there })?;
        world.run_until("it_moves", seconds(4), |world| match world.runs_on(&daemon) {
            Some((node, _)) if node == at => Ok(()),
            elsewhere => Err(format!("it is at {elsewhere:?}")),
        })?;
    }
    let (stale, runs) = (world.tally.stale, world.runs_on(&daemon));
    world.run_for(seconds(10))?;
    world.expect("they_are_refused", world.tally.stale > stale, || "nothing was refused".into())?;
    world.expect("it_runs_on", world.runs_on(&daemon) == runs, || format!("{:?}", world.runs_on(&daemon)))
}
