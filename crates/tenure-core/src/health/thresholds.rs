//! From when on it is bad.

use std::time::Duration;

use crate::lease::SettingsError;

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
    /// A loop that has not gone round for this long, or for three times as long as it usually takes, has stopped. 30 s.
    pub stopped_after: Duration,
    /// A loop that goes round and has not got on for this long is stuck: degraded. After five times as long: unhealthy.
    /// 2 min.
    pub stuck_after: Duration,
    /// Nodes are there and none has led for this long: degraded. 15 s.
    pub leaderless_degraded: Duration,
    /// Nodes are there and none has led for this long: unhealthy. 1 min.
    pub leaderless_unhealthy: Duration,
    /// Nobody has been woken by the store for this long, where the store can: degraded. They poll meanwhile. 1 min.
    pub listener_silent_after: Duration,
    /// A subscription is behind and has not moved for this long: degraded. 1 min.
    pub subscription_degraded: Duration,
    /// A subscription is behind and has not moved for this long: unhealthy. 10 min.
    pub subscription_unhealthy: Duration,
    /// The store has not answered for this long: unhealthy; degraded at once. 15 s.
    pub away_unhealthy: Duration,
    /// Numbers that are older than this are not known: degraded. 30 s.
    pub unknown_after: Duration,
}

impl Default for HealthThresholds {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            lag_degraded: seconds(60),
            lag_unhealthy: seconds(300),
            dead_degraded: 1,
            dead_unhealthy: 100,
            stopped_after: seconds(30),
            stuck_after: seconds(120),
            leaderless_degraded: seconds(15),
            leaderless_unhealthy: seconds(60),
            listener_silent_after: seconds(60),
            subscription_degraded: seconds(60),
            subscription_unhealthy: seconds(600),
            away_unhealthy: seconds(15),
            unknown_after: seconds(30),
        }
    }
}

impl HealthThresholds {
    /// Refuses what would be worse before it is bad, and spans so short that every pause of the scheduler is a fault.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let ordered = |name: &str, degraded: Duration, unhealthy: Duration| {
            SettingsError::unless(degraded <= unhealthy, || {
                format!("{name}_degraded {degraded:?} is above {name}_unhealthy {unhealthy:?}")
            })
        };
        ordered("lag", self.lag_degraded, self.lag_unhealthy)?;
        ordered("leaderless", self.leaderless_degraded, self.leaderless_unhealthy)?;
        ordered("subscription", self.subscription_degraded, self.subscription_unhealthy)?;
        let (degraded, unhealthy) = (self.dead_degraded, self.dead_unhealthy);
        SettingsError::unless(degraded > 0, || {
            "dead_degraded is 0, which is reached when no message is dead: it is 1 or more".into()
        })?;
        SettingsError::unless(degraded <= unhealthy, || {
            format!("dead_degraded {degraded} is above dead_unhealthy {unhealthy}")
        })?;
        // Loops that wait go round every 5 s.
        let least = Duration::from_secs(10);
        SettingsError::unless(self.stopped_after >= least, || {
            format!(
                "stopped_after {:?} is below {least:?}: loops that wait go round every 5 s",
                self.stopped_after
            )
        })?;
        SettingsError::unless(self.stuck_after >= self.stopped_after, || {
            format!("stuck_after {:?} is below stopped_after {:?}", self.stuck_after, self.stopped_after)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_that_do_not_fit_name_both_fields() {
        let good = HealthThresholds::default();
        assert_eq!(good.validate(), Ok(()));
        let seconds = Duration::from_secs;
        for (wrong, fields) in [
            (
                HealthThresholds { lag_degraded: seconds(301), ..good.clone() },
                ["lag_degraded", "lag_unhealthy"],
            ),
            (HealthThresholds { dead_degraded: 0, ..good.clone() }, ["dead_degraded", "1 or more"]),
            (HealthThresholds { dead_degraded: 101, ..good.clone() }, ["dead_degraded", "dead_unhealthy"]),
            (
                HealthThresholds { leaderless_degraded: seconds(61), ..good.clone() },
                ["leaderless_degraded", "leaderless_unhealthy"],
            ),
            (
                HealthThresholds { subscription_degraded: seconds(601), ..good.clone() },
                ["subscription_degraded", "subscription_unhealthy"],
            ),
            (HealthThresholds { stopped_after: seconds(9), ..good.clone() }, ["stopped_after", "10s"]),
            (HealthThresholds { stuck_after: seconds(29), ..good.clone() }, ["stuck_after", "stopped_after"]),
        ] {
            let error = wrong.validate().unwrap_err().to_string();
            assert!(fields.iter().all(|field| error.contains(field)), "{error}");
        }
    }
}
