//! Who takes part: one call at a time, driven by answers, by timers and by mail.

use std::time::Duration;

use fastrand::Rng;
use tenure_core::outbox::Verdict;
use tenure_core::time::Monotonic;

use super::host::Host;
use super::message::{Answer, Request};
use super::reader::Reader;
use super::writer::Writer;
use crate::oracle::{EventFact, Fact};

/// One who takes part.
#[derive(Debug)]
pub(crate) enum Actor {
    Writer(Writer),
    Host(Box<Host>),
    Reader(Box<Reader>),
}

/// What reaches an actor.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// Its own timer.
    Wake,
    /// An answer to its call; `None`: its patience has ended.
    Answer(Option<Answer>),
    /// A message for an entity.
    Mail,
    /// It is in office.
    Elected(u64),
    /// It hears that this time in office is over.
    Deposed(u64),
}

/// What an actor does at one moment.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) now: Monotonic,
    pub(crate) rng: &'a mut Rng,
    pub(crate) ask: Option<Request>,
    /// When it wants to go on by itself.
    pub(crate) wake: Option<Duration>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) notes: Vec<String>,
    /// What became of mail.
    pub(crate) verdicts: Vec<(usize, Verdict)>,
    /// Whether faults go on.
    pub(crate) stormy: bool,
}

impl Turn<'_> {
    pub(crate) fn tell(&mut self, fact: EventFact) {
        self.facts.push(Fact::Event(fact));
    }

    pub(crate) fn hit(&mut self, chance: u32) -> bool {
        chance > 0 && self.rng.u32(0..1000) < chance
    }

    /// A span up to this long.
    pub(crate) fn up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.rng.f64())
    }
}

impl Actor {
    pub(crate) fn drive(&mut self, input: Input, turn: &mut Turn<'_>) {
        match self {
            Self::Writer(writer) => writer.drive(input, turn),
            Self::Host(host) => host.drive(input, turn),
            Self::Reader(reader) => reader.drive(input, turn),
        }
    }

    /// Starts again after a crash: what was in memory is gone.
    pub(crate) fn restart(&mut self, rng: &mut Rng) {
        match self {
            Self::Writer(writer) => writer.restart(rng),
            Self::Host(host) => host.restart(),
            Self::Reader(reader) => reader.restart(),
        }
    }

    /// The reader, if it is one.
    pub(crate) fn reader(&self) -> Option<&Reader> {
        match self {
            Self::Reader(reader) => Some(reader),
            _ => None,
        }
    }
}
