//! What a seed decides about the world of events: who appends what, how entities and readers work, and what befalls them.

use std::time::Duration;

use fastrand::Rng;
use tenure_core::entity::EntitySettings;
use tenure_core::outbox::RetryPolicy;
use tenure_core::subscription::{OnFailure, SubscriptionSettings};

use crate::faults::Climate;

/// One world of events; chances in a thousand.
#[derive(Debug, Clone)]
pub(crate) struct EventsPlan {
    pub(crate) seed: u64,
    pub(crate) climate: Climate,
    /// How long faults last.
    pub(crate) storm: Duration,
    /// The longest time between two blows; `None`: there are none.
    pub(crate) trouble: Option<Duration>,
    pub(crate) writers: usize,
    pub(crate) writing: Writing,
    pub(crate) hosts: usize,
    pub(crate) mail: MailPlan,
    pub(crate) entities: EntitySettings,
    pub(crate) subscriptions: Vec<SubscriptionPlan>,
    /// A step of a transaction takes long.
    pub(crate) slow_step: u32,
    /// A transaction ends without a commit.
    pub(crate) rollback: u32,
    /// The longest pause between two visits of an operator; `None`: nobody comes.
    pub(crate) operators: Option<Duration>,
    /// How long a caller waits for an answer.
    pub(crate) patience: Duration,
}

/// What writers append.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// The longest pause between two appends; zero: nobody appends by himself.
    pub(crate) pause: Duration,
    pub(crate) streams: u64,
    pub(crate) any: u32,
    /// To a stream that is to be new.
    pub(crate) new: u32,
    /// Sends commands to entities along.
    pub(crate) sends: u32,
}

/// What entities are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MailPlan {
    /// The longest pause between two messages; zero: nobody sends by himself.
    pub(crate) pause: Duration,
    pub(crate) entities: u64,
    /// A message comes again although it was settled.
    pub(crate) again: u32,
}

/// How a subscription works.
#[derive(Debug, Clone)]
pub(crate) struct SubscriptionPlan {
    pub(crate) settings: SubscriptionSettings,
    /// How many events it takes in at once in its own transaction; `None`: it handles each by itself.
    pub(crate) projects: Option<usize>,
    /// Whether only who is in office may move the checkpoint.
    pub(crate) office: bool,
    pub(crate) readers: usize,
    /// An event that can never be handled.
    pub(crate) poison: u32,
    /// A try that fails.
    pub(crate) fail: u32,
    /// The longest time that it takes to handle an event.
    pub(crate) takes: Duration,
}

impl EventsPlan {
    /// Anything may happen.
    pub(crate) fn chaos(seed: u64) -> Self {
        // Another stream of chance than those of the other world.
        let mut rng = Rng::with_seed(seed ^ 0xe7e7_e7e7_e7e7_e7e7);
        let rng = &mut rng;
        let mut some = |most: u32| if rng.bool() { rng.u32(1..=most) } else { 0 };
        let (any, new, sends, again) = (some(700), some(150), some(200), some(400));
        let (slow_step, rollback) = (some(150), some(150));
        Self {
            seed,
            climate: Climate::swarm(rng),
            storm: Duration::from_millis(rng.u64(8_000..25_000)),
            trouble: Some(Duration::from_millis(rng.u64(300..3000))),
            writers: rng.usize(2..=4),
            writing: Writing {
                pause: Duration::from_millis(rng.u64(50..1500)),
                streams: rng.u64(1..=3),
                any,
                new,
                sends,
            },
            hosts: 2,
            mail: MailPlan {
                pause: Duration::from_millis(rng.u64(100..1500)),
                entities: rng.u64(1..=3),
                again,
            },
            entities: EntitySettings {
                cache: rng.usize(0..=4),
                conflicts: rng.u32(0..=4),
                snapshot_every: rng.u32(1..=10),
                page: rng.u32(1..=6),
                retries: rng.u32(0..=3),
            },
            subscriptions: (0..2).map(|_| SubscriptionPlan::chaos(rng)).collect(),
            slow_step,
            rollback,
            operators: rng.bool().then(|| Duration::from_millis(rng.u64(2000..10_000))),
            patience: Duration::from_millis(rng.u64(200..=2000)),
        }
    }

    /// Everything works, and nobody does anything by himself.
    pub(crate) fn calm(seed: u64) -> Self {
        Self {
            seed,
            climate: Climate::CLEAR,
            storm: Duration::ZERO,
            trouble: None,
            writers: 0,
            writing: Writing { pause: Duration::ZERO, streams: 1, any: 0, new: 0, sends: 0 },
            hosts: 0,
            mail: MailPlan { pause: Duration::ZERO, entities: 1, again: 0 },
            entities: EntitySettings::default(),
            subscriptions: Vec::new(),
            slow_step: 0,
            rollback: 0,
            operators: None,
            patience: Duration::from_secs(1),
        }
    }
}

impl SubscriptionPlan {
    fn chaos(rng: &mut Rng) -> Self {
        let first = Duration::from_millis(rng.u64(10..=200));
        let mut some = |most: u32| if rng.bool() { rng.u32(1..=most) } else { 0 };
        let (poison, fail) = (some(60), some(300));
        Self {
            settings: SubscriptionSettings {
                page: rng.u32(1..=12),
                checkpoint_every: rng.u32(1..=8),
                checkpoint_after: Duration::from_millis(rng.u64(0..=1500)),
                retry: RetryPolicy { max_attempts: rng.u32(1..=4), first, cap: first * 4 },
                on_failure: if rng.bool() { OnFailure::Park } else { OnFailure::Halt },
                poll: Duration::from_millis(rng.u64(20..=800)),
                ..SubscriptionSettings::default()
            },
            projects: rng.bool().then(|| rng.usize(1..=5)),
            office: rng.bool(),
            readers: 2,
            poison,
            fail,
            takes: Duration::from_millis(rng.u64(0..=60)),
        }
    }

    /// One reader that handles each event by itself, at once and without a failure.
    pub(crate) fn plain() -> Self {
        Self {
            settings: SubscriptionSettings {
                page: 4,
                checkpoint_every: 2,
                poll: Duration::from_millis(100),
                ..SubscriptionSettings::default()
            },
            projects: None,
            office: false,
            readers: 1,
            poison: 0,
            fail: 0,
            takes: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_has_valid_settings() {
        for seed in 0..500 {
            let plan = EventsPlan::chaos(seed);
            plan.entities.validate().unwrap();
            for subscription in plan.subscriptions {
                subscription.settings.validate().unwrap();
            }
        }
    }
}
