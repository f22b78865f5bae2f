//! 27: a crash at every step of an append. Events, dispatches and mark are all there, or nothing is.

use std::time::Duration;

use tenure_core::event::{Expected, InboxMark};
use tenure_core::outbox::Consumer;
use uuid::Uuid;

use super::history::{append, is_read, sent_by, stream, world};
use crate::events::Stage;
use crate::report::Failure;

const STAGES: [Stage; 7] = [
    Stage::Begun,
    Stage::Shown,
    Stage::Marked,
    Stage::Taking,
    Stage::Taken,
    Stage::Written,
    Stage::Committed,
];

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    STAGES.into_iter().try_for_each(|stage| crash_at(seed, stage))
}

fn crash_at(seed: u64, stage: Stage) -> Result<(), Failure> {
    let mut world = world(seed);
    let consumer = Consumer::new("someone").unwrap_or_else(|error| unreachable!("{error:?}"));
    let id = Uuid::from_u128(77).into();
    let mark = InboxMark { consumer, id, fingerprint: None, refused: None };
    let whole = append("a", Expected::NONE, 1).with_mark(mark);
    let transaction = world.open(whole.clone(), Some(stage));
    world.run_for(Duration::from_millis(50))?;
    world.roll_back(transaction);
    world.run_for(Duration::from_millis(50))?;
    let events = world.books.version_of(&stream("a")).0;
    let sent = world.books.has_sent(&sent_by(1));
    let expected = if stage == Stage::Committed { (2, true) } else { (0, false) };
    world.expect("all_or_nothing", (events, sent) == expected, || {
        format!("after a crash at {stage:?} there are {events} events, and the dispatch: {sent}")
    })?;
    // Whatever came of it: once more, and it is there once.
    world.open(whole, None);
    world.run_for(Duration::from_millis(50))?;
    let events = world.books.version_of(&stream("a")).0;
    world.expect("once_in_the_end", events == 2 && world.books.has_sent(&sent_by(1)), || {
        format!("{events} events")
    })?;
    is_read(&mut world)
}
