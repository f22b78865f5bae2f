//! Whether messages flow, by exact numbers: what `tenure status` says.

use serde::Serialize;

use super::{HealthThresholds, Level};
use crate::outbox::Stats;

/// The judgement, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// How bad it is.
    pub level: Level,
    /// Why, when it is not well.
    pub reasons: Vec<String>,
}

impl Health {
    /// Judges the outbox by its numbers.
    pub fn of(stats: &Stats, thresholds: &HealthThresholds) -> Self {
        let mut health = Self { level: Level::Healthy, reasons: Vec::new() };
        let lag = stats.lag.unwrap_or_default();
        health.judge(lag >= thresholds.lag_degraded, lag >= thresholds.lag_unhealthy, || {
            format!("the oldest message has waited for {} s", lag.as_secs())
        });
        let dead = stats.dead;
        let (degraded, unhealthy) = (dead >= thresholds.dead_degraded, dead >= thresholds.dead_unhealthy);
        health.judge(degraded, unhealthy, || dead_messages(dead, ""));
        let halted = stats.halted_sources;
        // What waits behind them waits for an operator.
        health.judge(halted > 0, halted > 0, || halted_sources(halted, ""));
        health
    }

    fn judge(&mut self, degraded: bool, unhealthy: bool, reason: impl FnOnce() -> String) {
        let level = Level::of(degraded, unhealthy);
        if level > Level::Healthy {
            self.level = self.level.max(level);
            self.reasons.push(reason());
        }
    }
}

pub(super) fn dead_messages(dead: u64, more: &str) -> String {
    match dead {
        1 => format!("1{more} message is dead"),
        _ => format!("{dead}{more} messages are dead"),
    }
}

pub(super) fn halted_sources(halted: u64, more: &str) -> String {
    match halted {
        1 => format!("1{more} source stands still behind a dead message"),
        _ => format!("{halted}{more} sources stand still behind dead messages"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn b9_lag_and_dead_messages_make_it_worse() {
        let of = |lag: u64, dead: u64| {
            let stats = Stats { lag: Some(Duration::from_secs(lag)), dead, ..Stats::default() };
            Health::of(&stats, &HealthThresholds::default())
        };
        assert_eq!(of(0, 0).level, Level::Healthy);
        assert_eq!(of(60, 0).level, Level::Degraded);
        assert_eq!(of(0, 1).level, Level::Degraded);
        assert_eq!(of(300, 1).level, Level::Unhealthy);
        assert_eq!(
            of(300, 100).reasons,
            ["the oldest message has waited for 300 s", "100 messages are dead"]
        );
    }
}
