//! The plan of a world: everything that a seed decides before the first step.

mod cluster;
mod events;
mod outbox;

use std::time::Duration;

use fastrand::Rng;
use tenure_core::lease::{LeaseSettings, PresenceSettings};

pub(crate) use cluster::{BLOWS, ClusterPlan, Manners, MemberPlan, job, parts};
pub(crate) use events::{EventsPlan, SubscriptionPlan, Writing};
pub(crate) use outbox::{OutboxPlan, RelayPlan, Traffic, Wakeups};

use crate::actor::Patience;
use crate::clock::Clock;
use crate::faults::{Climate, Trouble};

/// How far a steady clock may be off, in parts per million. A contender waits out a tenth more than the holder's trust,
/// so that two clocks may differ by a factor of 1.1: each by its square root.
const DRIFT_PPM_MAX: i64 = 46_000;

/// How far a wall clock may be off.
const SKEW_MICROS_MAX: i64 = 6 * 3_600_000_000;

/// One world before it begins.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) climate: Climate,
    /// The blows of the storm; `None`: there are none.
    pub(crate) trouble: Option<Trouble>,
    /// How long faults last.
    pub(crate) storm: Duration,
    /// What the holder of the lease relays; `None`: there is no outbox.
    pub(crate) outbox: Option<OutboxPlan>,
}

/// One node before it starts.
#[derive(Debug, Clone)]
pub(crate) struct NodePlan {
    pub(crate) settings: LeaseSettings,
    pub(crate) patience: Patience,
    pub(crate) clock: Clock,
}

impl Plan {
    /// A world of chaos.
    pub(crate) fn chaos(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let count = rng.usize(2..=5);
        // All alike with defaults, all alike with other settings, or each its own.
        let common = match rng.u32(0..4) {
            0 | 1 => Some(LeaseSettings::default()),
            2 => Some(random_settings(&mut rng)),
            _ => None,
        };
        let presence = rng.u32(0..4) > 0;
        let nodes = (0..count)
            .map(|_| {
                let mut settings = common.clone().unwrap_or_else(|| random_settings(&mut rng));
                if !presence {
                    settings.presence = None;
                }
                NodePlan::new(settings, &mut rng)
            })
            .collect();
        Self {
            seed,
            nodes,
            climate: Climate::swarm(&mut rng),
            trouble: Some(Trouble::swarm(&mut rng)),
            storm: Duration::from_secs(rng.u64(30..90)),
            outbox: Some(OutboxPlan::chaos(seed)),
        }
    }

    /// A world of `count` nodes with these settings in which nothing goes wrong by itself.
    pub(crate) fn calm(seed: u64, count: usize, settings: &LeaseSettings) -> Self {
        let mut rng = Rng::with_seed(seed);
        let nodes = (0..count).map(|_| NodePlan::new(settings.clone(), &mut rng)).collect();
        Self { seed, nodes, climate: Climate::CLEAR, trouble: None, storm: Duration::ZERO, outbox: None }
    }

    /// The longest of something over all nodes.
    pub(crate) fn longest(&self, of: impl Fn(&LeaseSettings) -> Duration) -> Duration {
        self.nodes.iter().map(|node| of(&node.settings)).max().unwrap_or_default()
    }

    /// Whether every node keeps a presence.
    pub(crate) fn all_present(&self) -> bool {
        self.nodes.iter().all(|node| node.settings.presence.is_some())
    }
}

impl NodePlan {
    /// A node with clocks that are as wrong as they may be, and a random patience.
    fn new(settings: LeaseSettings, rng: &mut Rng) -> Self {
        let patience = Patience {
            call: Duration::from_millis(rng.u64(300..=2500)),
            ping: Duration::from_millis(rng.u64(300..=3000)),
        };
        let drift = match rng.u32(0..4) {
            0 => 0,
            1 => -drift_ppm_max(&settings),
            2 => drift_ppm_max(&settings),
            _ => rng.i64(-drift_ppm_max(&settings)..=drift_ppm_max(&settings)),
        };
        let skew = rng.i64(-SKEW_MICROS_MAX..=SKEW_MICROS_MAX);
        Self {
            clock: Clock::new(Duration::from_millis(rng.u64(0..1 << 32)), drift, skew),
            settings,
            patience,
        }
    }

    /// The same node with a steady clock of this drift.
    pub(crate) fn drifting(mut self, drift_ppm: i64) -> Self {
        self.clock = Clock::new(Duration::from_secs(1000), drift_ppm, 0);
        self
    }
}

/// The documented ratio, `margin / ttl`, a little below.
pub(crate) fn drift_ppm_max(settings: &LeaseSettings) -> i64 {
    let ratio = settings.margin.as_micros() * 1_000_000 / settings.ttl.as_micros();
    (ratio as i64 - 1000).clamp(0, DRIFT_PPM_MAX)
}

fn random_settings(rng: &mut Rng) -> LeaseSettings {
    loop {
        let ttl = Duration::from_millis(rng.u64(1000..=8000));
        let renew = ttl.mul_f64(0.1 + 0.39 * rng.f64());
        let settings = LeaseSettings {
            ttl,
            renew,
            // Longer than the pauses of the work itself; a stopped process is what it is to catch.
            watchdog: (rng.u32(0..4) == 0)
                .then(|| renew.max(Duration::from_secs(1)).mul_f64(1.0 + rng.f64())),
            margin: ttl.mul_f64(0.02 + 0.13 * rng.f64()),
            poll: Duration::from_millis(rng.u64(300..=3000)),
            presence: rng.bool().then(|| random_presence(rng)),
            ..LeaseSettings::default()
        };
        if settings.validate().is_ok() {
            return settings;
        }
    }
}

fn random_presence(rng: &mut Rng) -> PresenceSettings {
    let ping = Duration::from_millis(rng.u64(50..=400));
    let trust = ping.mul_f64(2.0 + 2.0 * rng.f64());
    PresenceSettings { ping, trust, idle_timeout: trust.mul_f64(1.1 + 2.0 * rng.f64()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        assert_eq!(format!("{:?}", Plan::chaos(3)), format!("{:?}", Plan::chaos(3)));
        assert_ne!(format!("{:?}", Plan::chaos(3)), format!("{:?}", Plan::chaos(4)));
    }

    #[test]
    fn every_plan_has_valid_settings() {
        for seed in 0..500 {
            for node in Plan::chaos(seed).nodes {
                node.settings.validate().unwrap();
            }
        }
    }
}
