//! 15: terms rise over release, crash, expiry, force and a deleted row; a row that went back is refused, loudly.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds};
use crate::faults::Blow;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 3, &LeaseSettings::default());
    let (first, mut last) = world.run_until_held(seconds(5))?;
    world.inflict(Blow::Resign(first, Duration::from_millis(300)));
    world.run_for(Duration::from_millis(100))?;
    let backup = world.store.row.clone();
    for round in 0..6 {
        let (holder, _) = world.run_until_held(seconds(12))?;
        world.run_for(seconds(3))?;
        world.inflict(match round {
            0 => Blow::Resign(holder, seconds(1)),
            1 => Blow::Crash { node: holder, silent: false, down_for: seconds(1) },
            2 => Blow::Crash { node: holder, silent: true, down_for: seconds(1) },
            3 => Blow::DeleteRow,
            4 => Blow::Revoke { force: true },
            _ => Blow::RestartStore,
        });
        let former = last;
        world.run_until("a_later_term", seconds(12), |world| {
            round == 5 || world.store.row.as_ref().is_some_and(|row| row.term > former)
        })?;
        last = world.store.row.as_ref().map_or(last, |row| row.term);
    }
    world.run_for(seconds(10))?;
    let granted = world.tally().granted;
    world.store.meddle(backup);
    world.run_for(seconds(15))?;
    let tally = world.tally();
    world.expect("regress_is_refused", tally.regresses > 0 && tally.granted == granted, || {
        format!("{tally}")
    })?;
    world.expect("nobody_leads", world.believers() == 0, || "someone does".into())
}
