//! The storm and the calm of the world of events: appends, entities and readers under every fault, and then the proof that
//! everyone comes to the end of it.

use std::time::Duration;

use crate::events::{EventTally, EventsWorld};
use crate::faults::LATEST;
use crate::plan::EventsPlan;
use crate::report::Failure;

/// How long it takes at most, once nothing goes wrong any more, until every message is settled.
const SETTLED: Duration = Duration::from_secs(30);
/// How long it takes at most until some checkpoint moves, unless all are at the head.
const READ: Duration = Duration::from_secs(20);
/// How often an operator looks whether a reader has to be led past what it cannot handle.
const LOOK: Duration = Duration::from_secs(1);

/// What came of a run.
pub(super) struct Seen {
    pub(super) tally: EventTally,
    pub(super) trace_hash: u64,
}

/// Runs the chaos of one seed.
pub(super) fn run(seed: u64) -> Result<Seen, Failure> {
    let plan = EventsPlan::chaos(seed);
    let storm = plan.storm;
    let mut world = EventsWorld::new(plan);
    world.run_for(storm)?;
    world.calm_down();
    // What was sent in the storm may still arrive.
    world.run_for(LATEST)?;
    world.run_until("every_message_is_settled", SETTLED, EventsWorld::is_quiet)?;
    readers_reach_the_head(&mut world)?;
    let entities = world.plan.mail.entities;
    (0..entities).try_for_each(|counter| world.sum_of(counter).map(drop))?;
    Ok(Seen { tally: world.tally, trace_hash: world.trace_hash() })
}

/// Every subscription comes to the last position, with an operator's help where it stands still.
fn readers_reach_the_head(world: &mut EventsWorld) -> Result<(), Failure> {
    let all = 0..world.plan.subscriptions.len();
    let mut waited = Duration::ZERO;
    while !world.readers_are_there() && waited < READ {
        let before: Vec<_> = all.clone().map(|subscription| world.checkpoint(subscription)).collect();
        world.run_for(LOOK)?;
        let helped = all.clone().filter(|subscription| world.move_on(*subscription)).count() > 0;
        let moved = all.clone().any(|subscription| world.checkpoint(subscription) != before[subscription]);
        waited = if helped || moved { Duration::ZERO } else { waited + LOOK };
    }
    world.expect("readers_reach_the_head", world.readers_are_there(), || {
        let place = |subscription| {
            format!("{} by {}", world.checkpoint(subscription), world.readers_of(subscription))
        };
        let places: Vec<_> = (0..world.plan.subscriptions.len()).map(place).collect();
        format!("the head is {}; checkpoints: {places:?}", world.books.head())
    })
}
