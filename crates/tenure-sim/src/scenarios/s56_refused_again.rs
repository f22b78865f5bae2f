//! 56: a message is refused, and comes again when it would be welcome. It gets the same refusal, and has no effect.

use tenure_core::outbox::Verdict;

use super::history::{add, hosts, settles};
use super::seconds;
use crate::events::Mail;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = hosts(seed);
    let too_much = world.write_letter(add(1, 61));
    world.hand_in(0, too_much);
    settles(&mut world, too_much)?;
    let told = world.told(too_much).cloned();
    world.expect("it_is_refused", matches!(told, Some(Verdict::Rejected { .. })), || format!("{told:?}"))?;
    // Many others, another host, and a restart: the oracle holds each answer against the first.
    for (id, host) in (2..8).zip([0, 1].into_iter().cycle()) {
        let other = world.write_letter(Mail::command(id, "counter", "0", "Touch", "null"));
        world.hand_in(host, other);
        settles(&mut world, other)?;
        world.hand_in(host, too_much);
    }
    world.crash(0, seconds(1));
    world.run_for(seconds(2))?;
    world.hand_in(0, too_much);
    world.run_for(seconds(2))?;
    let (sum, again) = (world.sum_of(0)?, world.tally.refused_again);
    world.expect("the_same_refusal", (sum, again) == (0, 7), || format!("{sum}, refused again {again} times"))
}
