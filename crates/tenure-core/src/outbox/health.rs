//! Whether messages flow.

use std::time::Duration;

use serde::Serialize;

use super::Stats;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// All is well.
    Healthy,
    /// Someone should look at it in the morning.
    Degraded,
    /// Someone should look at it now.
    Unhealthy,
}

/// From when on it is bad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthThresholds {
    /// The oldest message has waited for this long: degraded. 1 min.
    pub lag_degraded: Duration,
    /// The oldest message has waited for this long: unhealthy. 5 min.
    pub lag_unhealthy: Duration,
    /// So many dead messages: degraded. 1.
    pub dead_degraded: u64,
    /// So many dead messages: unhealthy. 100.
    pub dead_unhealthy: u64,
}

impl Default for HealthThresholds {
    fn default() -> Self {
        Self {
            lag_degraded: Duration::from_secs(60),
            lag_unhealthy: Duration::from_secs(300),
            dead_degraded: 1,
            dead_unhealthy: 100,
        }
    }
}

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
        health.judge(dead >= thresholds.dead_degraded, dead >= thresholds.dead_unhealthy, || match dead {
            1 => "1 message is dead".to_owned(),
            _ => format!("{dead} messages are dead"),
        });
        let halted = stats.halted_sources;
        // What waits behind them waits for an operator.
        health.judge(halted > 0, halted > 0, || match halted {
            1 => "1 source stands still behind a dead message".to_owned(),
            _ => format!("{halted} sources stand still behind dead messages"),
        });
        health
    }

    fn judge(&mut self, degraded: bool, unhealthy: bool, reason: impl FnOnce() -> String) {
        let level = match (unhealthy, degraded) {
            (true, _) => Level::Unhealthy,
            (false, true) => Level::Degraded,
            (false, false) => return,
        };
        self.level = self.level.max(level);
        self.reasons.push(reason());
    }
}

#[cfg(test)]
mod tests {
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
