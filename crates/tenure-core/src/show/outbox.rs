//! The outbox in numbers, and what an operator changed in it.

use serde::Serialize;
use serde_json::Value;

use super::millis;
use super::schema::{Shape, list, maybe, object, text, truth, whole};
use crate::outbox::Stats;

/// The outbox in numbers, each counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatsShape {
    /// Messages that were given up.
    pub dead: u64,
    /// Of those that wait, how many wait for a time that was set when they were enqueued.
    pub delayed: u64,
    /// Messages that an operator discarded.
    pub discarded: u64,
    /// Messages that were delivered and are still kept.
    pub dispatched: u64,
    /// Whether that number is an estimate.
    pub dispatched_is_estimate: bool,
    /// Sources that stand still behind a dead message.
    pub halted_sources: u64,
    /// How long the oldest message that could go has been waiting; null when nothing waits.
    pub lag_ms: Option<u64>,
    /// Messages that wait.
    pub pending: u64,
    /// Of those, how many have failed before.
    pub retrying: u64,
}

impl From<&Stats> for StatsShape {
    fn from(stats: &Stats) -> Self {
        Self {
            dead: stats.dead,
            delayed: stats.delayed,
            discarded: stats.discarded,
            dispatched: stats.dispatched,
            dispatched_is_estimate: stats.dispatched_is_estimate,
            halted_sources: stats.halted_sources,
            lag_ms: stats.lag.map(millis),
            pending: stats.pending,
            retrying: stats.retrying,
        }
    }
}

impl Shape for StatsShape {
    const NAME: &'static str = "OutboxStats";
    fn schema() -> Value {
        object(vec![
            ("dead", whole()),
            ("delayed", whole()),
            ("discarded", whole()),
            ("dispatched", whole()),
            ("dispatched_is_estimate", truth()),
            ("halted_sources", whole()),
            ("lag_ms", maybe(whole())),
            ("pending", whole()),
            ("retrying", whole()),
        ])
    }
}

/// What a retry or a discard changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedShape {
    /// By whom.
    pub by: String,
    /// How many messages.
    pub changed: usize,
    /// Which ones, by their ids as they stand in the rows.
    pub ids: Vec<String>,
    /// From where to go on where there may be more: the `after` of the next change.
    pub next: Option<i64>,
    /// Whether there may be more: the limit was reached, or no further was looked.
    pub or_more: bool,
}

impl Shape for ChangedShape {
    const NAME: &'static str = "Changed";
    fn schema() -> Value {
        object(vec![
            ("by", text()),
            ("changed", whole()),
            ("ids", list(text())),
            ("next", maybe(whole())),
            ("or_more", truth()),
        ])
    }
}

/// What a retry or a discard would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DryRunShape {
    /// That nothing was done: always true.
    pub dry_run: bool,
    /// Whether there are more than that, beyond the limit or beyond what one count looks at.
    pub or_more: bool,
    /// How many messages would be changed.
    pub would_change: u64,
}

impl Shape for DryRunShape {
    const NAME: &'static str = "DryRun";
    fn schema() -> Value {
        object(vec![("dry_run", truth()), ("or_more", truth()), ("would_change", whole())])
    }
}
