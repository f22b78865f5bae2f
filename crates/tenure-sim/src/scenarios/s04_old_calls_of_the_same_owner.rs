//! 4: a node loses the lease and has it again; an old renewal and an old release of its former term arrive.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds};
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 1, &LeaseSettings::default());
    let (node, former) = world.run_until_held(seconds(5))?;
    world.snare(Snare::twice(node, Kind::Renew, seconds(9)));
    world.snare(Snare::twice(node, Kind::Release, seconds(5)));
    world.run_for(seconds(3))?;
    world.inflict(Blow::Resign(node, Duration::from_millis(200)));
    world.run_for(Duration::from_millis(100))?;
    let (_, term) = world.run_until_held(seconds(3))?;
    world.expect("a_new_term", term > former, || format!("term {term} after {former}"))?;
    world.run_until("old_calls_are_refused", seconds(10), |world| {
        world.tally().renewals_lost == 1 && world.tally().releases_not_held == 1
    })?;
    let row = world.store.row.as_ref();
    let intact = row.is_some_and(|row| row.term == term && row.released_at.is_none());
    world.expect("new_term_is_intact", intact && world.believes(node), || format!("{row:?}"))
}
