//! Real nodes that are killed, and real nodes that leave.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tenure::ClusterSettings;

use super::fleet::Fleet;
use super::{Size, declare, settings_json};
use crate::bench::actor::micros_now;
use crate::bench::outbox::rig::Rig;
use crate::bench::stats::Spans;
use crate::output::Failure;

/// Before each event all has been at rest for this long and up to as long again, so that events fall anywhere between two
/// pings and two heartbeats.
const SETTLE: Duration = Duration::from_millis(1000);

/// A fleet over a fresh place, with all daemons running.
async fn ready(rig: &dyn Rig, size: Size) -> Result<Fleet, Failure> {
    let mut fleet = Fleet::new(rig.address());
    for number in 0..size.nodes {
        fleet.start(&format!("node-{number:02}"), None, &[]).await?;
    }
    declare(rig.database(), size.daemons).await?;
    at_rest(&fleet, size).await?;
    Ok(fleet)
}

/// Waits until every daemon runs, and someone leads.
async fn at_rest(fleet: &Fleet, size: Size) -> Result<(), Failure> {
    let all = |journal: &super::journal::Journal| {
        journal.running() == size.daemons as usize && journal.leader().is_some()
    };
    fleet.until("all daemons run and someone leads", all).await?;
    tokio::time::sleep(SETTLE.mul_f64(1.0 + fastrand::f64())).await;
    fleet.until("all daemons run and someone leads", all).await
}

/// A node, its process and its daemons: the leader or another one, with as many daemons as there are.
fn victim(fleet: &Fleet, leads: bool) -> Option<(String, u32, Vec<String>)> {
    let journal = fleet.journal();
    let leader = journal.leader();
    let of_kind = fleet.names().filter(|(_, number)| (Some(*number) == leader) == leads);
    let with_daemons = of_kind.map(|(name, number)| (name.to_owned(), number, journal.of(number)));
    with_daemons.filter(|(_, _, theirs)| !theirs.is_empty()).max_by_key(|(_, _, theirs)| theirs.len())
}

pub(super) async fn kill(rig: &dyn Rig, size: Size, rounds: u32) -> Result<Value, Failure> {
    let mut fleet = ready(rig, size).await?;
    // Of a leader and of others.
    let (mut spans, mut done) = ([Vec::new(), Vec::new()], [0, 0]);
    let mut disturbed = 0;
    while done.iter().any(|done| *done < rounds) {
        // A leader that has no daemons gives nothing to measure; once others have died, it has some.
        let wanted = usize::from(done[1] < rounds && done[1] <= done[0]);
        let Some((kind, (name, process, theirs))) =
            [wanted, 1 - wanted].into_iter().find_map(|kind| Some((kind, victim(&fleet, kind == 1)?)))
        else {
            return Err(Failure::Failed("no node has a daemon".into()));
        };
        let at = micros_now();
        fleet.signal(&name, Signal::SIGKILL);
        fleet.gone(&name).await?;
        // What it said in its last moment counts: those it had stopped before were not killed with it.
        let still: Vec<String> = {
            let mut journal = fleet.journal();
            let still = journal.of(process);
            journal.killed(process, at);
            theirs.into_iter().filter(|daemon| still.contains(daemon)).collect()
        };
        let elsewhere = |journal: &super::journal::Journal| {
            still.iter().all(|daemon| journal.started_after(daemon, at).is_some())
        };
        fleet.until("the daemons of a killed node run elsewhere", elsewhere).await?;
        {
            let journal = fleet.journal();
            let started = still.iter().filter_map(|daemon| journal.started_after(daemon, at));
            spans[kind].extend(started.map(|started| started - at));
        }
        done[kind] += 1;
        disturbed += u32::from(still.is_empty());
        if disturbed > rounds {
            return Err(Failure::Failed("nodes lose their daemons by themselves here".into()));
        }
        fleet.start(&name, None, &[]).await?;
        at_rest(&fleet, size).await?;
    }
    let overlaps = fleet.journal().overlaps();
    fleet.end().await?;
    let [of_others, of_leaders] = spans;
    Ok(json!({
        "nodes": size.nodes, "daemons": size.daemons, "rounds": done[0], "rounds_leader": done[1],
        "kill": Spans::of(of_others), "kill_leader": Spans::of(of_leaders), "overlaps": overlaps,
        "settings": settings_json(&ClusterSettings::default()),
        "goals": { "kill": "p99 at most 2000 ms", "kill_leader": "p99 at most 2000 ms", "overlaps": "0" },
    }))
}

pub(super) async fn stop(rig: &dyn Rig, size: Size, rounds: u32) -> Result<Value, Failure> {
    let mut fleet = ready(rig, size).await?;
    let (mut handovers, mut totals, mut leaders, mut least) = (Vec::new(), Vec::new(), 0, usize::MAX);
    for round in 0..rounds {
        let leads = round % 2 == 1;
        let chosen = victim(&fleet, leads).filter(|(_, _, theirs)| theirs.len() >= size.per_node());
        let Some((name, process, theirs)) = chosen.or_else(|| victim(&fleet, !leads)) else {
            return Err(Failure::Failed("no node has a daemon".into()));
        };
        leaders += u32::from(fleet.journal().leader() == Some(process));
        least = least.min(theirs.len());
        let at = micros_now();
        fleet.signal(&name, Signal::SIGTERM);
        fleet.gone(&name).await?;
        let elsewhere = |journal: &super::journal::Journal| {
            theirs.iter().all(|daemon| journal.started_after(daemon, at).is_some())
        };
        fleet.until("the daemons of a node that left run elsewhere", elsewhere).await?;
        {
            let journal = fleet.journal();
            let last_end = journal.last_end(process).unwrap_or(at);
            let last_start = theirs.iter().filter_map(|daemon| journal.started_after(daemon, at)).max();
            let last_start = last_start.unwrap_or(last_end);
            handovers.push(last_start.saturating_sub(last_end));
            totals.push(last_start - at);
        }
        fleet.start(&name, None, &[]).await?;
        at_rest(&fleet, size).await?;
    }
    let overlaps = fleet.journal().overlaps();
    fleet.end().await?;
    Ok(json!({
        "nodes": size.nodes, "daemons": size.daemons, "rounds": rounds, "rounds_leader": leaders,
        "daemons_of_stopped_at_least": least, "stopped_to_started": Spans::of(handovers),
        "asked_to_started": Spans::of(totals), "overlaps": overlaps,
        "settings": settings_json(&ClusterSettings::default()),
        "goals": { "stopped_to_started": "max at most 500 ms", "overlaps": "0" },
    }))
}

impl Size {
    fn per_node(self) -> usize {
        (self.daemons / self.nodes) as usize
    }
}
