//! 3: a renewal arrives when the lease is another's by now. It is told so, and changes nothing.

use super::{at_calm, seconds, without_presence};
use crate::faults::Blow;
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 2, &without_presence());
    let (old, _) = world.run_until_held(seconds(5))?;
    world.snare(Snare::late_request(old, Kind::Renew, seconds(11)));
    world.inflict(Blow::Cut(old, seconds(30)));
    world.run_for(seconds(7))?;
    let (new, term) = world.run_until_held(seconds(5))?;
    world.expect("another_holds", new != old, || format!("n{new} holds it"))?;
    world.run_until("stale_renewal_is_told", seconds(10), |world| world.tally().renewals_lost == 1)?;
    world.run_for(seconds(10))?;
    let row = world.store.row.as_ref().map(|row| row.term);
    world.expect("new_term_is_untouched", row == Some(term) && world.believes(new), || format!("{row:?}"))
}
