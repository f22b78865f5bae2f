//! What a seed decides about the outbox: how relays work, what producers send, and how the receiver is.

use std::time::Duration;

use fastrand::Rng;
use tenure_core::outbox::{Limits, OnDead, RelaySettings, Retention, RetryPolicy};

use crate::faults::Temper;

/// How a relay works.
#[derive(Debug, Clone)]
pub(crate) struct RelayPlan {
    /// Where its chance comes from.
    pub(crate) seed: u64,
    pub(crate) settings: RelaySettings,
    /// How many messages the sink takes at once.
    pub(crate) sink_batch: usize,
    pub(crate) sweep_every: Duration,
}

/// What becomes of wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wakeups {
    /// Not one arrives.
    Lost,
    /// They arrive, each once.
    Prompt,
    /// They arrive in bursts, and also when nothing was committed.
    Storm,
}

/// What producers send; chances in a thousand.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    /// The longest pause between two transactions; zero: nobody sends by himself.
    pub(crate) pause: Duration,
    pub(crate) sources: u64,
    pub(crate) unordered: u32,
    /// Messages carry their version, and the id that goes with it; else they are ordered by insertion.
    pub(crate) versions: bool,
    pub(crate) slow_commit: u32,
    pub(crate) rollback: u32,
    /// The producer does not learn whether its commit took effect, and does it again.
    pub(crate) doubtful: u32,
    pub(crate) delayed: u32,
    pub(crate) poison: u32,
    pub(crate) large: u32,
    /// The receiver's handler will never take it.
    pub(crate) unwelcome: u32,
}

impl Traffic {
    /// Nobody sends anything by himself.
    pub(crate) const NONE: Self = Self {
        pause: Duration::ZERO,
        sources: 1,
        unordered: 0,
        versions: false,
        slow_commit: 0,
        rollback: 0,
        doubtful: 0,
        delayed: 0,
        poison: 0,
        large: 0,
        unwelcome: 0,
    };
}

/// The outbox of a world.
#[derive(Debug, Clone)]
pub(crate) struct OutboxPlan {
    pub(crate) relay: RelayPlan,
    pub(crate) traffic: Traffic,
    pub(crate) temper: Temper,
    pub(crate) wakeups: Wakeups,
    pub(crate) retention: Retention,
    /// The longest pause between two visits of operators; `None`: nobody comes.
    pub(crate) operators: Option<Duration>,
}

impl OutboxPlan {
    /// Anything may happen.
    pub(crate) fn chaos(seed: u64) -> Self {
        // Another stream of chance than the one that makes the leases.
        let mut rng = Rng::with_seed(seed ^ 0x0b0e_0b0e_0b0e_0b0e);
        let rng = &mut rng;
        let mut some = |most: u32| if rng.bool() { rng.u32(1..=most) } else { 0 };
        let traffic = Traffic {
            unordered: some(400),
            slow_commit: some(300),
            rollback: some(200),
            doubtful: some(200),
            delayed: some(150),
            poison: some(60),
            large: some(30),
            unwelcome: some(80),
            versions: some(1) > 0,
            pause: Duration::ZERO,
            sources: 0,
        };
        let traffic =
            Traffic { pause: Duration::from_millis(rng.u64(1200..8000)), sources: rng.u64(1..=5), ..traffic };
        Self {
            relay: RelayPlan {
                seed,
                settings: settings(rng),
                sink_batch: if rng.bool() { 1 } else { rng.usize(2..=5) },
                sweep_every: Duration::from_millis(rng.u64(2000..10_000)),
            },
            traffic,
            temper: Temper::swarm(rng),
            wakeups: match rng.u32(0..3) {
                0 => Wakeups::Lost,
                1 => Wakeups::Prompt,
                _ => Wakeups::Storm,
            },
            retention: retention(rng),
            operators: rng.bool().then(|| Duration::from_millis(rng.u64(2000..12_000))),
        }
    }

    /// Everything works, and nobody sends by himself.
    pub(crate) fn calm(seed: u64, settings: RelaySettings) -> Self {
        Self {
            relay: RelayPlan { seed, settings, sink_batch: 1, sweep_every: Duration::from_secs(2) },
            traffic: Traffic::NONE,
            temper: Temper::KIND,
            wakeups: Wakeups::Prompt,
            retention: Retention::default(),
            operators: None,
        }
    }
}

fn settings(rng: &mut Rng) -> RelaySettings {
    let first = Duration::from_millis(rng.u64(10..=800));
    let poll = Duration::from_millis(rng.u64(300..=2500));
    // Small numbers: what is bounded is to be seen at its bound.
    let mut few = |most: usize| if rng.bool() { rng.usize(1..=4) } else { rng.usize(1..=most) };
    let (concurrency, read_ahead, batch, run) = (few(16), few(64), few(32), few(16));
    RelaySettings {
        retry: RetryPolicy {
            max_attempts: rng.u32(1..=8),
            first,
            cap: first.max(Duration::from_millis(rng.u64(100..=3000))),
        },
        on_dead: if rng.bool() { OnDead::Skip } else { OnDead::Halt },
        deadline: Duration::from_millis(rng.u64(50..=2500)),
        concurrency,
        read_ahead,
        batch,
        run,
        limits: Limits::default(),
        drain: Duration::from_millis(rng.u64(0..=8000)),
        poll,
        poll_without_wakeup: poll,
        wakeup: true,
        part: None,
    }
}

fn retention(rng: &mut Rng) -> Retention {
    let mut span = |from: u64| rng.bool().then(|| Duration::from_millis(rng.u64(from..15_000)));
    Retention {
        dispatched: span(500),
        dead: span(5000),
        discarded: span(500),
        // A message that an operator retries may be as old as he likes: what an inbox forgets is tested elsewhere.
        inbox: None,
        batch: rng.u32(1..=20),
        ..Retention::default()
    }
}
