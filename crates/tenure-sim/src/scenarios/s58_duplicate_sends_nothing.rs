//! 58: a message for a process comes again, at once and long after. What it sent the first time is not sent again.

use super::history::{forgetful_hosts, settles};
use super::seconds;
use crate::events::Mail;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = forgetful_hosts(seed);
    let start = |id| Mail::command(id, "flow", "0", "Start", r#"{"from":1,"to":2,"amount":3}"#);
    let [start, second, third] = [1, 2, 3].map(|id| world.write_letter(start(id)));
    for host in [0, 1, 0] {
        world.hand_in(host, start);
    }
    settles(&mut world, start)?;
    // Its timeout comes, and it sends once more; then others, until only the inbox knows the first.
    world.run_for(seconds(4))?;
    for other in [second, third] {
        world.hand_in(1, other);
        world.run_for(seconds(4))?;
    }
    world.crash(0, seconds(1));
    world.run_for(seconds(2))?;
    for host in [0, 1] {
        world.hand_in(host, start);
    }
    world.run_for(seconds(3))?;
    let (sent, one, two) = (world.tally.sent, world.sum_of(1)?, world.sum_of(2)?);
    world.expect("each_is_sent_once", (sent, one, two) == (12, 18, 9), || {
        format!("{sent} were sent, the counters are at {one} and {two}")
    })
}
