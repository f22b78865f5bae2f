//! 5: the answer to a release is lost, another takes the lease, the release is repeated.

use std::time::Duration;

use tenure_core::lease::LeaseSettings;

use super::{at_calm, seconds};
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 2, &LeaseSettings::default());
    let (old, _) = world.run_until_held(seconds(5))?;
    world.run_for(seconds(3))?;
    world.snare(Snare::lose_answer(old, Kind::Release));
    world.inflict(Blow::Resign(old, seconds(60)));
    world.run_for(Duration::from_millis(50))?;
    world.inflict(Blow::Hint(1 - old));
    let (new, term) = world.run_until_held(Duration::from_millis(100))?;
    world.run_until("repeated_release_finds_nothing", seconds(5), |world| {
        world.tally().releases_not_held == 1
    })?;
    world.run_for(seconds(10))?;
    let row = world.store.row.as_ref();
    let intact = row.is_some_and(|row| row.term == term && row.released_at.is_none());
    world.expect("successor_is_intact", intact && world.believes(new), || format!("{row:?}"))
}
