//! 28: the connection is cut after the commit. The writer asks again with the same ids, and gets the first result.

use std::time::Duration;

use tenure_core::event::Expected;

use super::history::{append, is_read, stream, world};
use super::seconds;
use crate::events::{Kind, Snare};
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    for expected in [Expected::NONE, Expected::Any] {
        let mut world = world(seed);
        world.run_for(seconds(1))?;
        world.snare(Snare::lose_answer(0, Kind::Append));
        world.have_written(0, append("a", expected, 1));
        // Another one comes between the two.
        world.run_for(Duration::from_millis(500))?;
        world.have_written(1, append("a", Expected::Any, 2));
        world.run_until("it_is_known", seconds(5), |world| world.tally.repeated == 1)?;
        world.run_for(seconds(1))?;
        let version = world.books.version_of(&stream("a")).0;
        world.expect("one_set_of_rows", version == 4, || format!("{version} events"))?;
        is_read(&mut world)?;
    }
    Ok(())
}
