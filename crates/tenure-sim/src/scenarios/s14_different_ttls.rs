//! 14: nodes are configured with different ttls. The one that the holder recorded decides, for longer and for shorter.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::seconds;
use crate::faults::Blow;
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::report::Failure;
use crate::world::World;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let ttls = [seconds(8), seconds(1)];
    let mut plan = Plan::calm(seed, 2, &LeaseSettings::default());
    for (node, ttl) in plan.nodes.iter_mut().zip(ttls) {
        let poll = Duration::from_millis(500);
        *node = node.clone().drifting(0);
        node.settings = LeaseSettings { presence: None, poll, ..LeaseSettings::with_ttl(ttl) };
    }
    for (victim, ttl) in ttls.into_iter().enumerate() {
        let mut world = World::new(&plan, Oracle::new());
        world.run_until_held(seconds(5))?;
        if !world.believes(victim) {
            world.inflict(Blow::Resign(1 - victim, seconds(2)));
            world.run_until("victim_holds", seconds(5), |world| world.believes(victim))?;
        }
        world.run_for(seconds(5))?;
        world.inflict(Blow::Crash { node: victim, silent: true, down_for: seconds(60) });
        world.run_for(Duration::from_millis(20))?;
        let row = world.store.row.clone();
        let (renewed_at, expires_at) =
            row.map_or((world.now, world.now), |row| (row.renewed_at, row.expires_at));
        world.expect("recorded_ttl", renewed_at.until(expires_at) == ttl, || format!("not {ttl:?}"))?;
        world.run_until_held(ttl + seconds(2))?;
        world.expect("not_early", world.now >= expires_at, || "before the recorded ttl ended".into())?;
        let late = expires_at.until(world.now);
        world.expect("not_late", late < Duration::from_millis(100), || {
            format!("{late:?} after the recorded ttl")
        })?;
    }
    Ok(())
}
