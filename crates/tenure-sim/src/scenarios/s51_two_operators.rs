//! 51: two operators retry the same dead message at once. One of them changes it, and one line is written.

use tenure_core::outbox::State;

use super::post::{arrives, id, send, settings, state, world};
use super::seconds;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    world.outbox_mut().receiver.refusing.insert(id("a", 1));
    world.run_until_held(seconds(5))?;
    send(&mut world, "a", 1..=1);
    world.run_until("dead", seconds(3), |world| state(world, id("a", 1)) == Some(State::Dead))?;
    world.outbox_mut().receiver.refusing.clear();
    let changed = (world.retry_all(), world.retry_all(), world.discard_all());
    world.expect("one_of_them_changes_it", changed == (1, 0, 0), || format!("{changed:?}"))?;
    let lines = world.outbox().tables.audit().len();
    world.expect("one_line", lines == 1, || format!("{lines} lines"))?;
    arrives(&mut world, id("a", 1), seconds(3))?;
    let attempts = world.outbox().attempts_at(&id("a", 1));
    world.expect("the_numbers_go_on", attempts == 2, || format!("{attempts} attempts"))
}
