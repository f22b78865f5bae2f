//! The judgement: from facts to a level with its reasons.

use std::time::Duration;

use serde::Serialize;

use super::{DaemonFacts, Facts, HealthThresholds, LeaderState, Level, StoreState};
use crate::observe::{RunnerKind, RunnerReport};
use crate::outbox::Count;

/// What a failed check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// The process itself: it is to be started again.
    Liveness,
    /// What the process needs, or is for.
    Readiness,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is called: `outbox-lag`, `outbox-dead`, `store`, `leader`, `wake-up`, `loop relay outbox` …
    pub name: String,
    /// How bad it is.
    pub level: Level,
    /// What there is to say.
    pub what: String,
    /// What it is about.
    pub kind: CheckKind,
}

/// The judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthReport {
    /// The worst of all checks.
    pub level: Level,
    /// What there is to say of those that are not well.
    pub reasons: Vec<String>,
    /// All checks.
    pub checks: Vec<Check>,
}

impl HealthReport {
    /// Of these checks.
    pub fn of(checks: Vec<Check>) -> Self {
        let bad = checks.iter().filter(|check| check.level > Level::Healthy);
        let reasons = bad.map(|check| check.what.clone()).collect();
        let level = checks.iter().map(|check| check.level).max().unwrap_or(Level::Healthy);
        Self { level, reasons, checks }
    }

    /// Whether all is well enough to go on.
    pub fn is_up(&self) -> bool {
        self.level < Level::Unhealthy
    }
}

/// Judges everything: what `/health/ready` answers.
pub fn judge(facts: &Facts, thresholds: &HealthThresholds) -> HealthReport {
    let mut checks = vec![store(&facts.store, thresholds)];
    checks.extend(outbox(facts, thresholds));
    checks.extend(leader(facts.leader, thresholds));
    checks.extend(facts.daemons.and_then(daemons));
    for runner in &facts.runners {
        checks.extend(wake_up(runner, thresholds).or_else(|| stuck(runner, thresholds)));
        checks.push(stopped(runner, thresholds));
    }
    checks.extend(others(facts, thresholds));
    checks.extend(facts.subscriptions.iter().map(|subscription| {
        let (behind, ago) = (subscription.behind > 0, subscription.moved_ago);
        let level = Level::of(
            behind && ago >= thresholds.subscription_degraded,
            behind && ago >= thresholds.subscription_unhealthy,
        );
        let (name, behind) = (&subscription.name, subscription.behind);
        let what = match behind {
            0 => format!("the subscription {name} has read all there is"),
            _ => format!("the subscription {name} is {behind} behind and moved {} ago", span(ago)),
        };
        ready(format!("subscription {name}"), level, what)
    }));
    HealthReport::of(checks)
}

/// Judges only whether the loops of this process go round: what `/health/live` answers. Asks nobody.
pub fn judge_loops(runners: &[RunnerReport], thresholds: &HealthThresholds) -> HealthReport {
    HealthReport::of(runners.iter().map(|runner| stopped(runner, thresholds)).collect())
}

fn ready(name: impl Into<String>, level: Level, what: impl Into<String>) -> Check {
    Check { name: name.into(), level, what: what.into(), kind: CheckKind::Readiness }
}

fn store(state: &StoreState, thresholds: &HealthThresholds) -> Check {
    match state {
        StoreState::NotAsked => ready("store", Level::Degraded, "the store has not been asked yet"),
        StoreState::Answers => ready("store", Level::Healthy, "the store answers"),
        StoreState::Away { since, reason } => {
            let level = Level::of(true, *since >= thresholds.away_unhealthy);
            ready("store", level, format!("the store has not answered for {}: {reason}", span(*since)))
        }
    }
}

fn outbox(facts: &Facts, thresholds: &HealthThresholds) -> Vec<Check> {
    let Some((pulse, age)) = &facts.pulse else { return Vec::new() };
    let old = *age > thresholds.unknown_after;
    // What was bad when it was last seen is not well because nobody can see it any more.
    let as_of = if old { format!(", {} ago", span(*age)) } else { String::new() };
    let unknown = || {
        let what = format!("the numbers of the outbox are {} old", span(*age));
        ready("outbox-numbers", Level::Degraded, what)
    };
    let least = |count: &Count| if count.or_more { "+" } else { "" };
    let lag = pulse.lag.unwrap_or_default();
    let waits = match pulse.lag {
        None if pulse.lag_is_unknown() => format!(
            "whether anything is late is not known: more than {} wait, and the first of them are not due yet",
            pulse.pending.number
        ),
        None => "nothing is late".to_owned(),
        Some(_) => {
            let least = if pulse.lag_is_least { "at least " } else { "" };
            format!("the oldest message has waited for {least}{} s", lag.as_secs())
        }
    };
    let (dead, halted) = (pulse.dead.number, pulse.halted_sources.number);
    let mut checks = vec![
        ready(
            "outbox-lag",
            Level::of(
                pulse.lag_is_unknown() || lag >= thresholds.lag_degraded,
                lag >= thresholds.lag_unhealthy,
            ),
            waits,
        ),
        ready(
            "outbox-dead",
            Level::of(dead >= thresholds.dead_degraded, dead >= thresholds.dead_unhealthy),
            dead_messages(dead, least(&pulse.dead)),
        ),
        // What waits behind them waits for an operator.
        ready(
            "outbox-halted",
            Level::of(halted > 0, halted > 0),
            halted_sources(halted, least(&pulse.halted_sources)),
        ),
    ];
    checks.iter_mut().for_each(|check| check.what.push_str(&as_of));
    checks.extend(old.then(unknown));
    checks
}

fn dead_messages(dead: u64, more: &str) -> String {
    match (dead, more) {
        (1, "") => "1 message is dead".to_owned(),
        _ => format!("{dead}{more} messages are dead"),
    }
}

fn halted_sources(halted: u64, more: &str) -> String {
    match (halted, more) {
        (1, "") => "1 source stands still behind a dead message".to_owned(),
        _ => format!("{halted}{more} sources stand still behind dead messages"),
    }
}

/// Daemons that nobody runs are not well; where no node is there at all, nothing of them is.
fn daemons(facts: DaemonFacts) -> Option<Check> {
    let (level, what) = match (facts.wanted, facts.has_nodes, facts.nowhere) {
        (false, _, _) => return None,
        (true, false, _) => (
            Level::Unhealthy,
            "daemons are to run and no node is there: start one, or have them gone by `tenure daemon retire`"
                .to_owned(),
        ),
        (true, true, 0) => (Level::Healthy, "every daemon has its place".to_owned()),
        (true, true, 1) => {
            (Level::Degraded, "1 daemon runs nowhere; `tenure daemon list` says why".to_owned())
        }
        (true, true, many) => {
            (Level::Degraded, format!("{many} daemons run nowhere; `tenure daemon list` says why"))
        }
    };
    Some(ready("daemons", level, what))
}

fn leader(state: LeaderState, thresholds: &HealthThresholds) -> Option<Check> {
    let (level, what) = match state {
        LeaderState::NotWanted => return None,
        LeaderState::Leads => (Level::Healthy, "somebody leads".to_owned()),
        LeaderState::Vacant { since } => {
            let (degraded, unhealthy) = (thresholds.leaderless_degraded, thresholds.leaderless_unhealthy);
            let level = Level::of(since >= degraded, since >= unhealthy);
            (level, format!("nodes are there, but nobody has led for {}", span(since)))
        }
    };
    Some(ready("leader", level, what))
}

/// Whether a loop has stopped. The only thing that liveness goes by: one that cannot get on is not mended by a new start.
fn stopped(runner: &RunnerReport, thresholds: &HealthThresholds) -> Check {
    let RunnerReport { kind, name, .. } = runner;
    let silent = runner.cycled_ago.unwrap_or_default();
    let (level, what) = match has_stopped(runner, silent, thresholds) {
        true if runner.has_fallen() => {
            (Level::Unhealthy, format!("{kind} {name} was ended by a panic: it has stopped"))
        }
        true => (
            Level::Unhealthy,
            format!("{kind} {name} has not gone round for {}: it has stopped", span(silent)),
        ),
        false => (Level::Healthy, format!("{kind} {name} goes round")),
    };
    Check { name: format!("loop {kind} {name}"), level, what, kind: CheckKind::Liveness }
}

fn has_stopped(runner: &RunnerReport, silent: Duration, thresholds: &HealthThresholds) -> bool {
    runner.has_fallen() || silent >= thresholds.stopped_after.max(runner.every * 3)
}

/// A listener that hears nothing is no fault of the loop's: everybody polls meanwhile.
fn wake_up(runner: &RunnerReport, thresholds: &HealthThresholds) -> Option<Check> {
    let RunnerReport { kind: RunnerKind::Listener, name, .. } = runner else { return None };
    let silent = runner.advanced_ago.unwrap_or_default();
    let level = Level::of(silent >= thresholds.listener_silent_after, false);
    let what = match level {
        Level::Healthy => format!("{name}: woken by the store"),
        _ => format!("{name}: not woken by the store for {}; they poll{}", span(silent), because(runner)),
    };
    Some(ready("wake-up", level, what))
}

/// Whether a loop goes round and does not get on.
fn stuck(runner: &RunnerReport, thresholds: &HealthThresholds) -> Option<Check> {
    let RunnerReport { kind, name, .. } = runner;
    let stands = runner.advanced_ago?;
    if has_stopped(runner, runner.cycled_ago.unwrap_or_default(), thresholds) {
        return None;
    }
    let bound = thresholds.stuck_after.max(runner.every * 3);
    let level = Level::of(stands >= bound, stands >= bound * 5);
    let what = match level {
        Level::Healthy => format!("{kind} {name} gets on"),
        _ => format!("{kind} {name} has not got on for {}{}", span(stands), because(runner)),
    };
    Some(ready(format!("progress {kind} {name}"), level, what))
}

/// Another process that is in trouble makes nobody else unready; but somebody should look. Judged is what it said last, and
/// only while it is heard of: the loops of a process that has ended do not go round, and nobody can mend them.
fn others(facts: &Facts, thresholds: &HealthThresholds) -> Vec<Check> {
    let Some(others) = &facts.others else { return Vec::new() };
    let heard = others.rows.iter().filter(|row| row.is_heard(others.now, None));
    let bad = heard.filter_map(|row| {
        let (report, node) = (&row.report, &row.node.name);
        let silent = report.cycled_ago.unwrap_or_default();
        let stands = report.advanced_ago.unwrap_or_default();
        let stopped = has_stopped(report, silent, thresholds);
        let stuck =
            report.kind != RunnerKind::Listener && stands >= thresholds.stuck_after.max(report.every * 3);
        let RunnerReport { kind, name, .. } = report;
        let what = match (stopped, stuck) {
            (true, _) if report.has_fallen() => format!("on {node}, {kind} {name} was ended by a panic"),
            (true, _) => format!("on {node}, {kind} {name} has not gone round for {}", span(silent)),
            (false, true) => {
                format!("on {node}, {kind} {name} has not got on for {}{}", span(stands), because(report))
            }
            (false, false) => return None,
        };
        Some(ready(format!("elsewhere {node} {kind} {name}"), Level::Degraded, what))
    });
    bad.collect()
}

fn because(runner: &RunnerReport) -> String {
    runner.trouble.as_ref().map_or_else(String::new, |trouble| format!(": {trouble}"))
}

fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests;
