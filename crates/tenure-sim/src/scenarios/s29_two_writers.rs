//! 29: two writers expect the same version. One wins, the other is told of a conflict and leaves nothing.

use tenure_core::event::Expected;

use super::history::{append, is_read, sent_by, stream, world};
use super::seconds;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed);
    for number in [1, 2] {
        world.open(append("a", Expected::NONE, number), None);
    }
    world.run_for(seconds(1))?;
    let (done, conflicts) = (world.tally.appended, world.tally.conflicts);
    world.expect("one_wins", (done, conflicts) == (1, 1), || format!("{done} won, {conflicts} lost"))?;
    let events = world.books.version_of(&stream("a")).0;
    let sent = [1, 2].into_iter().filter(|number| world.books.has_sent(&sent_by(*number))).count();
    world.expect("nothing_of_the_loser", (events, sent) == (2, 1), || {
        format!("{events} events, {sent} dispatches")
    })?;
    is_read(&mut world)
}
