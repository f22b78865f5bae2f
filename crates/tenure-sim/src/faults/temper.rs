//! How a receiver is: what becomes of deliveries on their way, and what it does with those that arrive.

use std::time::Duration;

use fastrand::Rng;

use super::weather::{Climate, Weather};

/// How the receiver is for a while; chances in a thousand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mood {
    pub(crate) weather: Weather,
    /// Fails, and may work next time.
    pub(crate) fail: u32,
    /// Takes effect, and says that it failed.
    pub(crate) fail_after: u32,
    /// Something before the handler refuses it, and may not next time.
    pub(crate) reject: u32,
    /// Never answers, before or after the effect.
    pub(crate) hang: u32,
    pub(crate) hang_after: u32,
    /// How long an answer takes beyond its way.
    pub(crate) takes: Duration,
}

impl Mood {
    /// Everything is accepted at once.
    pub(crate) const KIND: Self = Self {
        weather: Weather::CLEAR,
        fail: 0,
        fail_after: 0,
        reject: 0,
        hang: 0,
        hang_after: 0,
        takes: Duration::ZERO,
    };
}

/// What moods a receiver can be in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Temper {
    climate: Climate,
    worst: Mood,
    /// How often it is kind, in a thousand.
    kind: u32,
}

impl Temper {
    /// Always kind.
    pub(crate) const KIND: Self = Self { climate: Climate::CLEAR, worst: Mood::KIND, kind: 1000 };

    /// Draws which troubles this receiver knows, and how bad they get.
    pub(crate) fn swarm(rng: &mut Rng) -> Self {
        let climate = Climate::swarm(rng);
        let mut chance = |most: u32| if rng.bool() { rng.u32(0..=most) } else { 0 };
        let worst = Mood {
            weather: Weather::CLEAR,
            fail: chance(900),
            fail_after: chance(400),
            reject: chance(100),
            hang: chance(300),
            hang_after: chance(300),
            takes: Duration::from_millis(u64::from(chance(2000))),
        };
        Self { climate, worst, kind: rng.u32(200..700) }
    }

    /// Draws the mood for the next while.
    pub(crate) fn mood(&self, rng: &mut Rng) -> Mood {
        if rng.u32(0..1000) < self.kind {
            return Mood::KIND;
        }
        let weather = self.climate.weather(rng);
        let mut some = |worst: u32| if worst > 0 && rng.bool() { rng.u32(0..=worst) } else { 0 };
        Mood {
            weather,
            fail: some(self.worst.fail),
            fail_after: some(self.worst.fail_after),
            reject: some(self.worst.reject),
            hang: some(self.worst.hang),
            hang_after: some(self.worst.hang_after),
            takes: self.worst.takes.mul_f64(rng.f64() * rng.f64()),
        }
    }
}
