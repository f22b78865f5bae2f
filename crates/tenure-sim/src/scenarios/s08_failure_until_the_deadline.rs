//! 8: renewals fail until the deadline. The holder stops, by the row's expiry at the latest, and only then releases.

use std::time::Duration;

use super::{at_calm, seconds, without_presence};
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 2, &without_presence());
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.run_for(seconds(3))?;
    let expires_at = world.store.row.as_ref().map_or(world.now, |row| row.expires_at);
    // The release alone comes through, though nobody hears of it.
    world.snare(Snare::lose_answer(holder, Kind::Release));
    world.inflict(Blow::Cut(holder, seconds(30)));
    world.run_until("stops", world.now.until(expires_at), |world| !world.believes(holder))?;
    world.run_until("releases", Duration::from_millis(10), |world| world.tally().released == 1)?;
    world.expect("stops_before_it_releases", !world.believes(holder), || "it still believes".into())?;
    let (new, _) = world.run_until_held(seconds(4))?;
    world.expect("another_holds", new != holder, || format!("n{new} holds it"))
}
