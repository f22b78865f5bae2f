//! The judgement: from facts to a level with its reasons.

use std::time::Duration;

use serde::Serialize;

use super::outbox::{dead_messages, halted_sources};
use super::{Facts, HealthThresholds, LeaderState, Level, StoreState};
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
    if *age > thresholds.unknown_after {
        let what = format!("the numbers of the outbox are {} old", span(*age));
        return vec![ready("outbox-numbers", Level::Degraded, what)];
    }
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
    vec![
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
    ]
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
        true => (
            Level::Unhealthy,
            format!("{kind} {name} has not gone round for {}: it has stopped", span(silent)),
        ),
        false => (Level::Healthy, format!("{kind} {name} goes round")),
    };
    Check { name: format!("loop {kind} {name}"), level, what, kind: CheckKind::Liveness }
}

fn has_stopped(runner: &RunnerReport, silent: Duration, thresholds: &HealthThresholds) -> bool {
    silent >= thresholds.stopped_after.max(runner.every * 3)
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

/// Another process that is in trouble makes nobody else unready; but somebody should look.
fn others(facts: &Facts, thresholds: &HealthThresholds) -> Vec<Check> {
    let Some(others) = &facts.others else { return Vec::new() };
    let bad = others.rows.iter().filter_map(|row| {
        let since = row.seen_at.until(others.now);
        let (report, node) = (&row.report, &row.node.name);
        let silent = report.cycled_ago.unwrap_or_default() + since;
        let stands = report.advanced_ago.unwrap_or_default() + since;
        // It writes down twice a minute at least, so half a minute more is nothing.
        let slack = Duration::from_secs(35);
        let stopped = has_stopped(report, silent.saturating_sub(slack), thresholds);
        let stuck = report.kind != RunnerKind::Listener
            && stands.saturating_sub(slack) >= thresholds.stuck_after.max(report.every * 3);
        let RunnerReport { kind, name, .. } = report;
        let what = match (stopped, stuck) {
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
