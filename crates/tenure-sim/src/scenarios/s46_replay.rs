//! 46: a producer does again what it is not sure of, and another takes back what it did. One row, one effect, or none.

use std::time::Duration;

use tenure_core::outbox::NewMessage;

use super::post::{arrives, effects, id, letter, settings, world};
use super::seconds;
use crate::report::Failure;
use crate::world::outbox::{Draft, Ending};

const SOON: Duration = Duration::from_millis(1);

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    world.run_until_held(seconds(5))?;
    world.transact(vec![letter("a", 1)], Ending::Doubt { committed: true }, SOON);
    world.transact(vec![letter("b", 1)], Ending::Doubt { committed: false }, SOON);
    world.transact(vec![letter("c", 1)], Ending::Rollback, seconds(3));
    world.run_for(seconds(5))?;
    arrives(&mut world, id("a", 1), seconds(2))?;
    arrives(&mut world, id("b", 1), seconds(2))?;
    let committed = world.tally().committed;
    world.expect("no_second_row", committed == 2, || format!("{committed} rows"))?;
    let never = effects(&world, id("c", 1));
    world.expect("nothing_of_what_was_taken_back", never == 0, || format!("{never} effects"))?;
    let other = NewMessage::bytes("topic", "Type", "text/plain", "another content").from_version("a", 1, 0);
    world.transact(vec![Draft::Message(other)], Ending::Commit, SOON);
    world.run_for(seconds(3))?;
    let conflicts = world.tally().conflicts;
    world.expect("another_content_is_an_error", conflicts == 1, || format!("{conflicts} conflicts"))?;
    arrives(&mut world, id("a", 1), seconds(0))
}
