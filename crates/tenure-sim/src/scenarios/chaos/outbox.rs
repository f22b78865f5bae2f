//! What the calm must bring to the outbox: everything that was committed arrives, and nobody is starved.

use std::time::Duration;

use tenure_core::outbox::NewMessage;

use crate::plan::Plan;
use crate::report::Failure;
use crate::world::World;
use crate::world::outbox::{Draft, Ending};

/// How long after a commit a row is seen that was committed below what was read: the core's own bound, and slack.
const HEAD_EVERY: Duration = Duration::from_secs(1);
const SLACK: Duration = Duration::from_millis(600);

/// How long one delivery takes in the test of starvation, how many rows keep the source busy meanwhile.
const TAKES: Duration = Duration::from_millis(100);
const BUSY_ROWS: i64 = 60;

/// How often operators come before every dead message is out of the way: each time they find at least one.
const VISITS: usize = 100;

/// Sends some messages of a source and some of none.
pub(super) fn send_some(world: &mut World) {
    let drafts = (0..4)
        .map(|index| {
            let message = NewMessage::bytes("topic", "Type", "text/plain", "calm");
            Draft::Message(if index % 2 == 0 { message.from_source("calm") } else { message })
        })
        .collect();
    world.transact(drafts, Ending::Commit, Duration::from_micros(10));
}

/// All that was committed took effect once, unless it is dead or discarded; operators clear halted sources.
pub(super) fn everything_arrives(world: &mut World, plan: &Plan) -> Result<(), Failure> {
    let Some(outbox) = &plan.outbox else { return Ok(()) };
    let settings = &outbox.relay.settings;
    // A pause and a deadline may have begun in the storm, and a call that nobody answers; then the source is found by polling.
    let patience = plan.nodes.iter().map(|node| node.patience.call).max().unwrap_or_default();
    let bound = settings.retry.cap
        + settings.deadline
        + settings.poll * 2
        + patience * 2
        + HEAD_EVERY
        + Duration::from_secs(8);
    for visit in 0..VISITS {
        world.run_until("lag_goes_to_zero", bound, |world| {
            !world.is_transacting() && world.outbox().has_no_lag(world.now)
        })?;
        let dead = if visit == 0 && plan.seed.is_multiple_of(2) {
            world.retry_all()
        } else if world.outbox().tables.stats(world.now).halted_sources > 0 {
            world.discard_all()
        } else {
            0
        };
        if dead == 0 {
            break;
        }
    }
    match world.outbox().unfinished() {
        Some(message) => Err(world.failure("effect_eventually_once", message)),
        None => Ok(()),
    }
}

/// A row that is committed late below what was read of a busy source is delivered soon, not when the source rests.
pub(super) fn a_late_row_is_not_starved(world: &mut World, plan: &Plan) -> Result<(), Failure> {
    let Some(outbox) = &plan.outbox else { return Ok(()) };
    let settings = &outbox.relay.settings;
    // What was read ahead goes first, and a source is read again when half of its share is gone.
    let quick = settings.run <= 4
        && settings.read_ahead <= 8
        && settings.poll <= Duration::from_secs(1)
        && settings.deadline >= TAKES * 3
        && outbox.relay.sink_batch == 1;
    if !quick {
        return Ok(());
    }
    world.outbox_mut().receiver.mood.takes = TAKES;
    let row = |version| {
        let message = NewMessage::bytes("topic", "Type", "text/plain", "busy");
        Draft::Message(message.from_version("busy", version, 0))
    };
    world.transact((100..100 + BUSY_ROWS).map(row).collect(), Ending::Commit, Duration::from_micros(10));
    world.run_for(Duration::from_millis(100))?;
    let first = world.outbox().receiver.ledger.len();
    world.run_until("a_busy_source", settings.poll + SLACK, |world| {
        world.outbox().receiver.ledger.len() > first
    })?;
    world.transact(vec![row(1)], Ending::Commit, Duration::from_micros(10));
    let id = tenure_core::outbox::deterministic_id("busy", 1, 0);
    let rows_before = (2 * settings.run + settings.read_ahead) as u32;
    let bound = HEAD_EVERY + settings.poll + TAKES * rows_before + SLACK;
    world.run_until("a_late_row_is_not_starved", bound, |world| {
        world.outbox().receiver.ledger.contains(&id)
    })?;
    world.outbox_mut().receiver.mood.takes = Duration::ZERO;
    Ok(())
}
