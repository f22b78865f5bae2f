//! 7: renewals fail for a while and then work, all within the deadline. The holder stays.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::seconds;
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::report::Failure;
use crate::world::message::Kind;
use crate::world::{Snare, World};

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut plan = Plan::calm(seed, 3, &LeaseSettings::default());
    plan.nodes.iter_mut().for_each(|node| node.patience.call = Duration::from_secs(1));
    let mut world = World::new(&plan, Oracle::new());
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.run_for(seconds(1))?;
    for _ in 0..5 {
        world.snare(Snare::lose_request(holder, Kind::Renew));
        world.snare(Snare::lose_answer(holder, Kind::Renew));
        world.run_for(seconds(8))?;
    }
    let granted = world.tally().granted;
    world.expect("no_flap", granted == 1 && world.believes(holder), || format!("{granted} grants"))
}
