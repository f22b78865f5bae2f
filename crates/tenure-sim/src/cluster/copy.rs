//! A copy of a daemon: it works under its fence until it is told to stop, and not all of them do as they are told.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::cluster::{DaemonSpec, End};
use tenure_core::lease::{Fence, Term};
use tenure_core::time::Monotonic;

use super::message::{Call, Why};
use super::process::Work;
use crate::actor::FAR;
use crate::plan::Manners;

/// How long one whose right is over has before it is cut off.
const LOSE_GRACE: Duration = Duration::from_secs(2);

/// How a copy behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Temper {
    Good,
    /// Takes so long to stop.
    Slow(Duration),
    /// Stops only when it is cut off.
    Hangs,
}

/// How much a copy was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Nothing,
    ToStop,
    Over,
}

/// One copy.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) spec: Arc<DaemonSpec>,
    pub(super) told: Told,
    temper: Temper,
    ends_at: Option<Monotonic>,
    end: End,
    effect_at: Monotonic,
}

impl Copy {
    pub(super) fn start(spec: Arc<DaemonSpec>, manners: Manners, now: Monotonic, rng: &mut Rng) -> Self {
        let mut millis = |from: u64, to: u64| Duration::from_millis(rng.u64(from..=to));
        let (soon, later, slow) = (millis(0, 50), millis(100, 8000), millis(500, 20_000));
        let mut hit = |chance: u32| chance > 0 && rng.u32(0..1000) < chance;
        let ends_at = match (hit(manners.fails), hit(manners.panics)) {
            (true, _) => Some(now.after(soon)),
            (_, true) => Some(now.after(later)),
            _ => None,
        };
        let temper = match (hit(manners.hangs), hit(manners.slow)) {
            (true, _) => Temper::Hangs,
            (_, true) => Temper::Slow(slow),
            _ => Temper::Good,
        };
        let end = End::Failed("it panicked".to_owned());
        Self { spec, told: Told::Nothing, temper, ends_at, end, effect_at: now }
    }

    /// It is to stop: what is under way may end.
    pub(super) fn stop(&mut self, now: Monotonic, rng: &mut Rng) {
        self.told = self.told.max(Told::ToStop);
        let span = match self.temper {
            Temper::Good => Some(Duration::from_millis(rng.u64(0..200))),
            Temper::Slow(span) => Some(span),
            Temper::Hangs => None,
        };
        self.ends_within(span, now);
    }

    /// Its right is over.
    pub(super) fn lose(&mut self, now: Monotonic, rng: &mut Rng) {
        self.told = Told::Over;
        let span = match self.temper {
            Temper::Good => Duration::from_millis(rng.u64(0..100)),
            _ => LOSE_GRACE,
        };
        self.ends_within(Some(span), now);
    }

    /// It is cut off.
    pub(super) fn abort(&mut self, now: Monotonic) {
        self.told = Told::Over;
        self.ends_within(Some(Duration::ZERO), now);
    }

    fn ends_within(&mut self, span: Option<Duration>, now: Monotonic) {
        let Some(at) = span.map(|span| now.after(span)) else { return };
        if self.ends_at.is_none_or(|known| at < known) {
            (self.ends_at, self.end) = (Some(at), End::Finished);
        }
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&self, now: Monotonic) -> Option<&End> {
        self.ends_at.filter(|at| now >= *at).map(|_| &self.end)
    }

    /// Works, if it may; says when it wants to be looked at again.
    pub(super) fn drive(&mut self, generation: Term, believes: bool, work: &mut Work<'_>) -> Monotonic {
        if believes && work.now >= self.effect_at {
            work.calls.extend(self.effect(generation).map(|call| (call, Why::Nothing, None)));
            self.effect_at = work.now.after(Duration::from_millis(work.rng.u64(150..900)));
        }
        let effect_at = if believes { self.effect_at } else { FAR };
        effect_at.min(self.ends_at.unwrap_or(FAR))
    }

    /// Its next protected write.
    pub(super) fn effect(&self, generation: Term) -> Option<Call> {
        let lease = self.spec.name.lease().ok()?;
        Some(Call::Effect(self.spec.name.clone(), Fence { lease, term: generation }))
    }
}
