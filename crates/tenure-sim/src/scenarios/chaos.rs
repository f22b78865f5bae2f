//! Chaos, then calm: a storm of every fault that the seed enables, and then the proof that life goes on.
//!
//! The storm is about safety: the oracle judges every step of it. The calm is about liveness: once faults have ended
//! someone holds the lease within a bound, a resignation and a crash are followed by a successor within theirs, and every
//! committed message that is neither dead nor discarded has taken effect. The worlds of events and of a cluster have storms and calms
//! of their own.

mod cluster;
mod events;
mod outbox;

use std::time::Duration;

use tenure_core::lease::PresenceSettings;

use crate::faults::{Blow, LATEST};
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::report::{Failure, Report};
use crate::world::{Tally, World};

/// For messages of some milliseconds, and clocks that differ by some percent.
const SLACK: Duration = Duration::from_millis(1500);

/// Longer than the rest of the run.
const FOR_GOOD: Duration = Duration::from_secs(600);

/// Runs the chaos of one seed: that of leases and the outbox, that of events, then that of a cluster.
pub fn run(seed: u64) -> Result<Report, Failure> {
    let mut report = without_cluster(seed)?;
    let cluster = cluster(seed)?;
    report.tally += cluster.tally;
    report.trace_hash ^= cluster.trace_hash.rotate_left(2);
    Ok(report)
}

/// Runs the chaos of leases, the outbox and events.
pub(crate) fn without_cluster(seed: u64) -> Result<Report, Failure> {
    let mut report = leases(seed)?;
    let events = events::run(seed)?;
    report.tally.events = events.tally;
    report.trace_hash ^= events.trace_hash.rotate_left(1);
    Ok(report)
}

/// Runs the chaos of a cluster alone.
pub(crate) fn cluster(seed: u64) -> Result<Report, Failure> {
    let (cluster, trace_hash) = cluster::run(seed)?;
    Ok(Report { seed, tally: Tally { cluster, ..Tally::default() }, trace_hash })
}

fn leases(seed: u64) -> Result<Report, Failure> {
    let plan = Plan::chaos(seed);
    let mut world = World::new(&plan, Oracle::new());
    world.run_for(plan.storm)?;
    world.calm_down();
    // What was sent in the storm may still arrive, and may still upset things.
    world.run_for(LATEST)?;
    let bounds = Bounds::of(&plan);
    work_goes_on(&mut world, "some_holder_after_calm", bounds.expiry)?;
    outbox::everything_arrives(&mut world, &plan)?;
    outbox::a_late_row_is_not_starved(&mut world, &plan)?;
    // Long enough for presence to be announced, and for everyone to have seen it.
    world.run_for(bounds.expiry)?;
    outbox::send_some(&mut world);
    hand_over(&mut world, &plan, &bounds)?;
    world.run_for(bounds.expiry)?;
    outbox::send_some(&mut world);
    take_over(&mut world, &plan, &bounds)?;
    outbox::everything_arrives(&mut world, &plan)?;
    Ok(world.report())
}

/// How long things may take when nothing goes wrong.
struct Bounds {
    /// Until a grant that nobody renews is replaced.
    expiry: Duration,
    /// Until a grant that was given back is replaced, when it is seen only by looking.
    look: Duration,
    /// Until the trust of a vanished holder is waited out.
    wait_out: Duration,
}

impl Bounds {
    fn of(plan: &Plan) -> Self {
        let look = plan.longest(|settings| settings.poll).mul_f64(1.25);
        let wait_out = plan.longest(|settings| {
            settings
                .presence
                .as_ref()
                .map_or(Duration::ZERO, |presence| PresenceSettings::wait_out(presence.trust))
        });
        let ttl = plan.longest(|settings| settings.ttl);
        let idle =
            plan.longest(|settings| settings.presence.as_ref().map_or(Duration::ZERO, |p| p.idle_timeout));
        Self { expiry: ttl + look + wait_out + idle + SLACK, look: look + SLACK, wait_out: wait_out + SLACK }
    }
}

/// Someone holds the lease and has a write accepted.
fn work_goes_on(world: &mut World, what: &'static str, bound: Duration) -> Result<(), Failure> {
    let before = world.tally().writes_accepted;
    world.run_until(what, bound, |world| world.tally().writes_accepted > before && world.holder().is_some())
}

/// A graceful release: the successor is there as soon as it hears of it.
fn hand_over(world: &mut World, plan: &Plan, bounds: &Bounds) -> Result<(), Failure> {
    let Some(holder) = world.holder() else {
        return Err(world.failure("calm_keeps_the_holder", "nobody holds the lease any more".into()));
    };
    let watched = presence_is_seen(world, plan)?;
    world.inflict(Blow::Resign(holder, FOR_GOOD));
    work_goes_on(world, "prompt_hand_over", if watched { Duration::from_millis(400) } else { bounds.look })
}

/// The process of the holder dies: the successor waits out its trust where it can, its ttl where it must.
fn take_over(world: &mut World, plan: &Plan, bounds: &Bounds) -> Result<(), Failure> {
    if plan.nodes.len() < 3 {
        // The one who resigned rests; there is nobody else.
        return Ok(());
    }
    let Some(holder) = world.holder() else {
        return Err(world.failure("calm_keeps_the_holder", "nobody holds the lease any more".into()));
    };
    let watched = presence_is_seen(world, plan)?;
    world.inflict(Blow::Crash { node: holder, silent: false, down_for: FOR_GOOD });
    work_goes_on(world, "prompt_take_over", if watched { bounds.wait_out } else { bounds.expiry })
}

/// Whether the holder's flag is named in the row and watched. Where every node keeps a presence, it must be.
fn presence_is_seen(world: &World, plan: &Plan) -> Result<bool, Failure> {
    let watched = world.store.is_watched();
    world.expect("presence_is_seen", watched || !plan.all_present(), || {
        "nobody watches the holder's flag".into()
    })?;
    Ok(watched)
}
