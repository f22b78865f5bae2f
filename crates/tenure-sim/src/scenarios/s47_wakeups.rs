//! 47: all wake-ups are lost, or they come in a storm. Polling delivers, and a storm is one look now and then.

use std::time::Duration;

use super::post::{arrives, id, send, settings, world};
use super::seconds;
use crate::plan::Wakeups;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    lost(seed)?;
    storm(seed)
}

fn lost(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |plan| plan.wakeups = Wakeups::Lost);
    world.run_until_held(seconds(5))?;
    for version in 1..=5 {
        world.run_for(seconds(7))?;
        let looks = world.tally().looks;
        send(&mut world, "a", version..=version);
        arrives(&mut world, id("a", version), settings().poll + Duration::from_millis(300))?;
        let looks = world.tally().looks - looks;
        world.expect("looks_are_few", looks < 10, || format!("{looks} looks for one message"))?;
    }
    Ok(())
}

fn storm(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed, settings(), |_| {});
    let (holder, _) = world.run_until_held(seconds(5))?;
    world.run_for(seconds(10))?;
    let looks = world.tally().looks;
    for _ in 0..5000 {
        world.nudge(holder);
        world.run_for(Duration::from_micros(100))?;
    }
    let looks = world.tally().looks - looks;
    world.expect("a_storm_is_spaced", looks < 250, || format!("{looks} looks in half a second"))?;
    send(&mut world, "a", 1..=1);
    arrives(&mut world, id("a", 1), Duration::from_millis(200))
}
