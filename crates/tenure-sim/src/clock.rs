//! The clocks of the world: one true time, which is the store's, and what each node believes of it.
//!
//! A node has a steady clock that runs at its own rate, and a wall clock that stands anywhere and may be set. Only the
//! steady one is ever given to the machines under test; the wall clock is there to show that nobody reads it.

use std::time::Duration;

use tenure_core::time::{Monotonic, StoreTime};

/// When every world begins.
pub(crate) const EPOCH: StoreTime = StoreTime::from_micros(1_800_000_000_000_000);

/// Parts per million.
const MILLION: i64 = 1_000_000;

/// The clocks of one node.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// What the steady clock reads when the world begins.
    origin: Duration,
    /// How much faster (or, below zero, slower) than true time it runs, in parts per million.
    drift_ppm: i64,
    /// How far the wall clock is ahead of true time, in microseconds.
    wall_ahead_micros: i64,
}

impl Clock {
    pub(crate) fn new(origin: Duration, drift_ppm: i64, wall_ahead_micros: i64) -> Self {
        Self { origin, drift_ppm, wall_ahead_micros }
    }

    /// What the steady clock reads at the true time `now`.
    pub(crate) fn read(&self, now: StoreTime) -> Monotonic {
        let micros = now.as_micros() - EPOCH.as_micros();
        // A world lasts minutes: this fits for months.
        let nanos = micros.saturating_mul(self.speed()) / 1000;
        Monotonic::from_origin(self.origin + Duration::from_nanos(nanos.max(0) as u64))
    }

    /// The first true time at which the steady clock reads `reading` or more.
    pub(crate) fn when(&self, reading: Monotonic) -> StoreTime {
        let nanos = reading.since_origin().saturating_sub(self.origin).as_nanos();
        // What is too far for the arithmetic is too far for every world.
        let thousandths = i64::try_from(nanos * 1000).unwrap_or(i64::MAX - MILLION * 2);
        let micros = (thousandths + self.speed() - 1) / self.speed();
        let mut at = EPOCH.after(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)));
        if thousandths == i64::MAX - MILLION * 2 {
            return at;
        }
        while self.read(at) < reading {
            at = at.after(Duration::from_micros(1));
        }
        at
    }

    /// What the wall clock shows at the true time `now`.
    pub(crate) fn wall(&self, now: StoreTime) -> StoreTime {
        StoreTime::from_micros(now.as_micros().saturating_add(self.wall_ahead_micros))
    }

    /// Sets the wall clock; the steady one does not notice.
    pub(crate) fn step_wall(&mut self, by_micros: i64) {
        self.wall_ahead_micros = self.wall_ahead_micros.saturating_add(by_micros);
    }

    fn speed(&self) -> i64 {
        MILLION + self.drift_ppm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_reached_when_said_and_not_before() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..1000 {
            let clock = Clock::new(Duration::from_nanos(rng.u64(0..1 << 40)), rng.i64(-300_000..300_000), 0);
            let reading = clock.read(EPOCH).after(Duration::from_nanos(rng.u64(1..1 << 36)));
            let at = clock.when(reading);
            assert!(clock.read(at) >= reading);
            assert!(clock.read(StoreTime::from_micros(at.as_micros() - 1)) < reading);
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_leaves_the_steady_one_alone() {
        let mut clock = Clock::new(Duration::ZERO, 0, 0);
        let before = clock.read(EPOCH);
        clock.step_wall(-3_600_000_000);
        assert_eq!(clock.read(EPOCH), before);
        assert!(clock.wall(EPOCH) < EPOCH);
    }
}
