//! The weather of a link between a node and the store: which messages are lost, slow, late, or sent twice.

use std::time::Duration;

use fastrand::Rng;

use crate::world::message::Kind;

/// No message arrives later than this after it was sent.
pub(crate) const LATEST: Duration = Duration::from_secs(12);

/// What becomes of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    /// How long the request takes; `None`: lost before effect.
    pub(crate) request: Option<Duration>,
    /// How long the answer takes; `None`: lost after effect.
    pub(crate) answer: Option<Duration>,
    /// How long a second copy of the request takes, where there is one.
    pub(crate) copy: Option<Duration>,
    /// When the caller finds its connection broken, and knows no more than that.
    pub(crate) error: Option<Duration>,
}

impl Fate {
    /// Never arrives, and nobody says so.
    pub(crate) const SILENCE: Self = Self { request: None, answer: None, copy: None, error: None };

    /// Arrives and is answered within milliseconds.
    pub(crate) fn prompt(rng: &mut Rng) -> Self {
        Self { request: Some(short(rng)), answer: Some(short(rng)), copy: None, error: None }
    }
}

/// Chances in a thousand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Weather {
    lose_request: u32,
    lose_answer: u32,
    /// Takes up to two seconds.
    slow: u32,
    /// Takes up to [`LATEST`].
    very_late: u32,
    twice: u32,
    lose_on_session: u32,
    slow_on_session: u32,
}

impl Weather {
    /// Nothing goes wrong.
    pub(crate) const CLEAR: Self = Self {
        lose_request: 0,
        lose_answer: 0,
        slow: 0,
        very_late: 0,
        twice: 0,
        lose_on_session: 0,
        slow_on_session: 0,
    };

    /// Most calls are slow, some never come through.
    pub(crate) const SLOW: Self = Self {
        slow: 500,
        very_late: 150,
        lose_request: 100,
        lose_answer: 100,
        lose_on_session: 100,
        ..Self::CLEAR
    };

    /// Draws the fate of one call.
    pub(crate) fn fate(&self, kind: Kind, rng: &mut Rng) -> Fate {
        let mut fate = Fate::prompt(rng);
        if matches!(kind, Kind::Session | Kind::Watch) {
            // A session is one connection: nothing is doubled on it, and what is lost stalls it.
            if self.hit(self.lose_on_session, rng) {
                fate.request = None;
            }
            if self.hit(self.slow_on_session, rng) {
                fate.answer = Some(millis(20, 1500, rng));
            }
            return fate;
        }
        if self.hit(self.slow, rng) {
            fate.request = Some(millis(20, 2000, rng));
        }
        if self.hit(self.slow, rng) {
            fate.answer = Some(millis(20, 2000, rng));
        }
        if self.hit(self.very_late, rng) {
            fate.request = Some(late(rng));
        }
        if self.hit(self.lose_request, rng) {
            fate.request = None;
        }
        if self.hit(self.lose_answer, rng) {
            fate.answer = None;
        }
        if (fate.request.is_none() || fate.answer.is_none()) && rng.bool() {
            fate.error = Some(short(rng) + short(rng));
        }
        if self.hit(self.twice, rng) {
            fate.copy = Some(if rng.bool() { short(rng) } else { late(rng) });
        }
        fate
    }

    /// How long the news of a fallen flag takes; `None`: it is lost.
    pub(crate) fn news(&self, rng: &mut Rng) -> Option<Duration> {
        if self.hit(self.lose_on_session, rng) {
            return None;
        }
        Some(if self.hit(self.slow_on_session, rng) { millis(20, 1500, rng) } else { short(rng) })
    }

    fn hit(&self, chance: u32, rng: &mut Rng) -> bool {
        chance > 0 && rng.u32(0..1000) < chance
    }
}

/// What weather there can be in one world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Climate {
    worst: Weather,
    /// How often a link has no trouble at all, in a thousand.
    clear: u32,
}

impl Climate {
    pub(crate) const CLEAR: Self = Self { worst: Weather::CLEAR, clear: 1000 };

    /// Draws which troubles this world has, and how bad they get.
    pub(crate) fn swarm(rng: &mut Rng) -> Self {
        let mut chance = |most: u32| if rng.bool() { rng.u32(0..=most) } else { 0 };
        let worst = Weather {
            lose_request: chance(500),
            lose_answer: chance(500),
            slow: chance(600),
            very_late: chance(300),
            twice: chance(300),
            lose_on_session: chance(150),
            slow_on_session: chance(300),
        };
        Self { worst, clear: rng.u32(200..800) }
    }

    /// Draws the weather of a link for the next while.
    pub(crate) fn weather(&self, rng: &mut Rng) -> Weather {
        if rng.u32(0..1000) < self.clear {
            return Weather::CLEAR;
        }
        let mut some = |worst: u32| if worst > 0 && rng.bool() { rng.u32(0..=worst) } else { 0 };
        Weather {
            lose_request: some(self.worst.lose_request),
            lose_answer: some(self.worst.lose_answer),
            slow: some(self.worst.slow),
            very_late: some(self.worst.very_late),
            twice: some(self.worst.twice),
            lose_on_session: some(self.worst.lose_on_session),
            slow_on_session: some(self.worst.slow_on_session),
        }
    }
}

fn short(rng: &mut Rng) -> Duration {
    Duration::from_micros(rng.u64(150..4000))
}

fn late(rng: &mut Rng) -> Duration {
    millis(500, LATEST.as_millis() as u64, rng)
}

fn millis(from: u64, to: u64, rng: &mut Rng) -> Duration {
    Duration::from_micros(rng.u64(from * 1000..to * 1000))
}
