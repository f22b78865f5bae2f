//! 33: a transaction begins before another one and appends to the same stream after it. The order in the stream is by version,
//! and positions say the same.

use tenure_core::event::{Expected, Position, Version};

use super::history::{append, is_read, stream, world};
use super::seconds;
use crate::events::Stage;
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = world(seed);
    let early = world.open(append("a", Expected::Any, 1), Some(Stage::Shown));
    world.run_for(seconds(1))?;
    world.open(append("a", Expected::NONE, 2), None);
    world.run_for(seconds(1))?;
    let at = world.checkpoint(0);
    world.expect("the_reader_waits", at == Position::START, || format!("the checkpoint is at {at}"))?;
    world.let_go(early);
    is_read(&mut world)?;
    let events = world.books.stream(&stream("a"));
    let in_order = events.windows(2).all(|two| two[0].position < two[1].position);
    let versions: Vec<Version> = events.iter().map(|event| event.version).collect();
    world.expect("by_version", in_order && versions == [1, 2, 3, 4].map(Version), || format!("{events:?}"))
}
