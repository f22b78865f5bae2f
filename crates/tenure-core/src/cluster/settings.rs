//! How a cluster is kept: how often, how long, how many.

use std::time::Duration;

use super::Deadlines;
use crate::lease::{LeaseSettings, PresenceSettings, SettingsError};

/// The longest of all spans: a year, which is as good as never.
const SPAN_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How a node is part of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// How often a node renews its lease. 1.5 s.
    pub heartbeat: Duration,
    /// How long a node counts as living without a heartbeat, where there is no presence to tell sooner. 6 s.
    pub node_ttl: Duration,
    /// How long before that the node itself stops what it runs. 500 ms.
    pub margin: Duration,
    /// How a death is noticed before the ttl; `None` lets the ttl alone decide.
    pub presence: Option<PresenceSettings>,
    /// How the leader's lease is held.
    pub election: LeaseSettings,
    /// How often a node looks when something wakes it in between, and when nothing does. 3 s, 1 s.
    pub look: Duration,
    /// The same where nothing wakes it.
    pub look_without_wakeup: Duration,
    /// How often it looks while something is on its way. 50 ms.
    pub look_in_motion: Duration,
    /// How long a node has to say yes to a daemon. 30 s.
    pub acknowledge: Duration,
    /// How long a node has to stop a daemon. 30 s.
    pub drain: Duration,
    /// How long nobody must have come or gone before daemons are moved only to spread them. 30 s.
    pub settle: Duration,
    /// How many daemons are on their way at once only to be spread. 100.
    pub moves_at_once: u32,
    /// How uneven it must be before daemons are moved only to spread them: by so many hundredths of the mean. 20.
    pub uneven: u32,
    /// How often a daemon may fail on a node before it is moved elsewhere. 3.
    pub failures: u32,
    /// The pause after its first failure, doubled with each up to `restart_cap`. 500 ms.
    pub restart: Duration,
    /// The longest pause. 30 s.
    pub restart_cap: Duration,
    /// After how long without a failure the former ones are forgotten. 1 min.
    pub healthy_after: Duration,
    /// For how long a daemon that failed on a node is placed elsewhere, doubled each time. 1 min.
    pub cool_down: Duration,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(1500),
            node_ttl: Duration::from_secs(6),
            margin: Duration::from_millis(500),
            presence: Some(PresenceSettings::default()),
            election: LeaseSettings::default(),
            look: Duration::from_secs(3),
            look_without_wakeup: Duration::from_secs(1),
            look_in_motion: Duration::from_millis(50),
            acknowledge: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            settle: Duration::from_secs(30),
            moves_at_once: 100,
            uneven: 20,
            failures: 3,
            restart: Duration::from_millis(500),
            restart_cap: Duration::from_secs(30),
            healthy_after: Duration::from_secs(60),
            cool_down: Duration::from_secs(60),
        }
    }
}

impl ClusterSettings {
    /// How a node's own lease is held.
    pub fn membership(&self) -> LeaseSettings {
        LeaseSettings {
            renew: self.heartbeat,
            margin: self.margin,
            presence: self.presence.clone(),
            ..LeaseSettings::with_ttl(self.node_ttl)
        }
    }

    /// How long nodes have to answer.
    pub fn deadlines(&self) -> Deadlines {
        Deadlines { acknowledge: self.acknowledge, drain: self.drain }
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        check(self.node_ttl > self.heartbeat.saturating_mul(3), || {
            format!(
                "node_ttl {:?} is not above three times heartbeat {:?}: a node would be given up after two lost heartbeats",
                self.node_ttl, self.heartbeat
            )
        })?;
        self.membership().validate()?;
        self.election.validate()?;
        let spans = [
            ("look", self.look),
            ("look_without_wakeup", self.look_without_wakeup),
            ("look_in_motion", self.look_in_motion),
            ("acknowledge", self.acknowledge),
            ("drain", self.drain),
            ("restart", self.restart),
            ("cool_down", self.cool_down),
        ];
        for (name, span) in spans {
            check(!span.is_zero(), || format!("{name} is zero"))?;
        }
        let more = [
            ("settle", self.settle),
            ("restart_cap", self.restart_cap),
            ("healthy_after", self.healthy_after),
        ];
        for (name, span) in spans.into_iter().chain(more) {
            check(span <= SPAN_MAX, || format!("{name} {span:?} is above {SPAN_MAX:?}"))?;
        }
        check(self.drain > self.look.saturating_mul(2), || {
            format!(
                "drain {:?} is not above twice look {:?}: a node may not have seen yet that it is to stop a daemon",
                self.drain, self.look
            )
        })?;
        check(self.look_in_motion <= self.look_without_wakeup, || {
            format!(
                "look_in_motion {:?} is above look_without_wakeup {:?}",
                self.look_in_motion, self.look_without_wakeup
            )
        })?;
        check(self.drain > self.look_without_wakeup.saturating_mul(2), || {
            format!(
                "drain {:?} is not above twice look_without_wakeup {:?}: a node may not have seen yet that it is to stop a daemon",
                self.drain, self.look_without_wakeup
            )
        })?;
        check(self.restart <= self.restart_cap, || {
            format!("restart {:?} is above restart_cap {:?}", self.restart, self.restart_cap)
        })?;
        check(self.failures > 0, || "failures is zero".into())?;
        check(self.moves_at_once > 0, || "moves_at_once is zero".into())
    }
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), SettingsError> {
    SettingsError::unless(holds, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut ClusterSettings)) -> String {
        let mut settings = ClusterSettings::default();
        change(&mut settings);
        settings.validate().unwrap_err().to_string()
    }

    #[test]
    fn refusals_name_both_fields() {
        ClusterSettings::default().validate().unwrap();
        let ttl = refusal(|s| s.heartbeat = Duration::from_secs(2));
        assert!(ttl.contains("node_ttl 6s") && ttl.contains("heartbeat 2s"), "{ttl}");
        let drain = refusal(|s| s.drain = Duration::from_secs(2));
        assert!(drain.contains("drain 2s") && drain.contains("look_without_wakeup 1s"), "{drain}");
        assert!(refusal(|s| s.failures = 0).contains("failures"));
        assert!(refusal(|s| s.acknowledge = Duration::ZERO).contains("acknowledge"));
    }
}
