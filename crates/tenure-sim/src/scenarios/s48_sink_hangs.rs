//! 48: the sink never answers. Each delivery has its deadline, the office goes on, and nothing is left behind.

use tenure_core::outbox::RelaySettings;

use super::post::{arrives, id, send, settings, world};
use super::seconds;
use crate::report::Failure;

const SOURCES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    // Fewer places than sources: a place that a hanging delivery kept would be missed.
    let mut world = world(seed, RelaySettings { concurrency: 2, ..settings() }, |_| {});
    let (holder, term) = world.run_until_held(seconds(5))?;
    world.outbox_mut().receiver.mood.hang = 1000;
    for source in SOURCES {
        send(&mut world, source, 1..=2);
    }
    world.run_for(seconds(30))?;
    for source in SOURCES {
        let attempts = world.outbox().attempts_at(&id(source, 1));
        world.expect("every_source_has_its_turn", attempts > 0, || {
            format!("{attempts} attempts of {source}")
        })?;
    }
    let (still, now) = world.run_until_held(seconds(0))?;
    world.expect("the_office_goes_on", (still, now) == (holder, term), || format!("n{still} in {now}"))?;
    world.outbox_mut().receiver.mood.hang = 0;
    for source in SOURCES {
        arrives(&mut world, id(source, 2), seconds(12))?;
    }
    Ok(())
}
