//! 50: retention is short and comes often, while a message waits for its next attempt and a source stands still.

use tenure_core::outbox::{OnDead, Retention, State};

use super::post::{arrives, effects, id, on_dead, send, state, world};
use super::seconds;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, on_dead(OnDead::Halt), |plan| {
        let keep = Some(seconds(1));
        plan.retention =
            Retention { dispatched: keep, dead: keep, discarded: keep, batch: 2, ..plan.retention.clone() };
        plan.relay.sweep_every = seconds(1);
    });
    world.run_until_held(seconds(5))?;
    let receiver = &mut world.outbox_mut().receiver;
    receiver.failing.insert(id("fails", 1));
    receiver.refusing.insert(id("halts", 1));
    send(&mut world, "fails", 1..=2);
    send(&mut world, "halts", 1..=2);
    send(&mut world, "done", 1..=9);
    world.run_for(seconds(12))?;
    let states = [id("fails", 1), id("fails", 2), id("halts", 1), id("halts", 2)].map(|id| state(&world, id));
    let wanted = [State::Pending, State::Pending, State::Dead, State::Pending].map(Some);
    world.expect("what_is_not_finished_stays", states == wanted, || format!("{states:?}"))?;
    let gone = (1..=9).all(|version| state(&world, id("done", version)).is_none());
    world.expect("what_is_finished_goes", gone, || "it is still there".into())?;
    world.outbox_mut().receiver.failing.clear();
    arrives(&mut world, id("fails", 1), seconds(4))?;
    world.discard_all();
    world.run_until("the_rest_flows", seconds(4), |world| effects(world, id("halts", 2)) == 1)
}
