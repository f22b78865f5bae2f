//! 16: the answer to a claim is lost after the grant took effect. The claimant learns of it by asking again.

use tenure_core::lease::{LeaseSettings, Term};

use super::{at_calm, seconds};
use crate::report::Failure;
use crate::world::Snare;
use crate::world::message::Kind;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = at_calm(seed, 2, &LeaseSettings::default());
    for node in 0..2 {
        world.snare(Snare::lose_answer(node, Kind::Acquire));
    }
    let (_, term) = world.run_until_held(seconds(5))?;
    let tally = world.tally();
    world.expect("same_grant", tally.granted == 1 && tally.granted_again == 1 && term == Term::FIRST, || {
        format!("term {term}; {tally}")
    })
}
