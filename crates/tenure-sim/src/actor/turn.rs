//! One turn of a node: the time it reads, the chance it is given, and what it wants sent.
//!
//! A node of the simulator does no I/O either. It is handed a turn and leaves its calls in it; the world sends them.

use std::time::Duration;

use fastrand::Rng;
use tenure_core::id::Unique;
use tenure_core::lease::{Fence, Flag, Term};
use tenure_core::time::Monotonic;

use super::relay::Errand;
use crate::oracle::Fact;
use crate::world::message::Request;

/// What a node is given, and what it leaves.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) now: Monotonic,
    pub(crate) rng: &'a mut Rng,
    pub(crate) asks: Vec<Ask>,
    pub(crate) notes: Vec<String>,
    /// What the oracle is to know.
    pub(crate) facts: Vec<Fact>,
}

/// A call that a node wants to make.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) request: Request,
    pub(crate) purpose: Purpose,
    /// After how long without an answer it counts as unanswered; `None`: the node waits for ever.
    pub(crate) patience: Option<Duration>,
}

/// What an answer is for. Answers to former roles find that nobody wants them any more.
#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    Claim {
        id: Unique,
        started: Monotonic,
    },
    Watch(Flag),
    Renew(Term, u64),
    Raise(Flag),
    Write(Fence),
    Release(Term),
    Open {
        id: Unique,
        started: Monotonic,
    },
    Ping {
        id: Unique,
        started: Monotonic,
    },
    /// A relay's.
    Relay(Term, Errand),
    /// Nobody waits for it.
    Nothing,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(now: Monotonic, rng: &'a mut Rng) -> Self {
        Self { now, rng, asks: Vec::new(), notes: Vec::new(), facts: Vec::new() }
    }

    pub(crate) fn ask(&mut self, request: Request, purpose: Purpose, patience: Option<Duration>) {
        self.asks.push(Ask { request, purpose, patience });
    }

    pub(crate) fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    pub(crate) fn unique(&mut self) -> Unique {
        Unique::from_u128(self.rng.u128(..))
    }

    /// A span between two numbers of milliseconds.
    pub(crate) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_micros(self.rng.u64(from * 1000..=to * 1000))
    }
}
