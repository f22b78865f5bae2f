//! 44: the first message of a source fails for a while. Its source waits in order and is not hammered, others flow.

use super::post::{arrives, effects, id, send, settings, world};
use super::seconds;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    world.outbox_mut().receiver.failing.insert(id("a", 1));
    world.run_until_held(seconds(5))?;
    send(&mut world, "a", 1..=3);
    send(&mut world, "b", 1..=3);
    arrives(&mut world, id("b", 3), seconds(3))?;
    world.run_for(seconds(8))?;
    let early = effects(&world, id("a", 2)) + effects(&world, id("a", 3));
    world.expect("the_source_waits", early == 0, || format!("{early} effects before the first"))?;
    let attempts = world.outbox().attempts_at(&id("a", 1));
    world.expect("with_pauses", (3..20).contains(&attempts), || format!("{attempts} attempts in 8 s"))?;
    world.outbox_mut().receiver.failing.clear();
    for version in 1..=3 {
        arrives(&mut world, id("a", version), seconds(4))?;
    }
    Ok(())
}
