//! What a relay tells of itself: counters that its parts move, and a snapshot of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tenure_core::observe::{METER, outcome_slot};
use tenure_core::outbox::{Kind, Next, Outcome};

use crate::runners::Beat;

/// What a relay is at the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "role")]
pub enum Role {
    /// It does not run.
    #[default]
    Stopped,
    /// It works without a lease.
    Alone,
    /// It waits for its lease, and reads nothing.
    Standby,
    /// It works on parts of the outbox; other nodes have the others.
    Parts {
        /// On how many.
        parts: u64,
    },
    /// It works under its lease.
    Leading {
        /// The number of its holding.
        term: u64,
    },
}

/// A snapshot of a relay. Numbers count from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RelayStatus {
    /// What it is.
    #[serde(flatten)]
    pub role: Role,
    /// Attempts that were recorded as a success.
    pub delivered: u64,
    /// Attempts that were recorded as rejected by the receiver.
    pub rejected: u64,
    /// Attempts that were recorded as failed for now.
    pub transient: u64,
    /// Attempts that were recorded as poison.
    pub poison: u64,
    /// Messages that were given up.
    pub dead: u64,
    /// Rows in memory: waiting, under way, or not recorded yet.
    pub held: u64,
    /// Deliveries under way.
    pub in_flight: u64,
    /// Looks at the store.
    pub looks: u64,
    /// Looks that found something.
    pub looks_with_rows: u64,
    /// Whether the last look went round all there is and found nothing to deliver now.
    pub idle: bool,
    /// Hints that something was committed.
    pub hints: u64,
    /// Rows that retention deleted.
    pub swept: u64,
    /// What went wrong last between the relay and its store; none when the last call went well.
    pub trouble: Option<String>,
}

impl RelayStatus {
    /// Adds the numbers of another relay of the same outbox.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { delivered, rejected, transient, poison, dead, held, in_flight, .. } = other;
        let Self { looks, looks_with_rows, hints, swept, trouble, .. } = other;
        self.delivered += delivered;
        self.rejected += rejected;
        self.transient += transient;
        self.poison += poison;
        self.dead += dead;
        self.held += held;
        self.in_flight += in_flight;
        self.looks += looks;
        self.looks_with_rows += looks_with_rows;
        self.hints += hints;
        self.swept += swept;
        self.trouble = trouble.or_else(|| self.trouble.take());
    }
}

/// The counters.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    role: Mutex<Role>,
    outcomes: [AtomicU64; 4],
    dead: AtomicU64,
    held: AtomicU64,
    in_flight: AtomicU64,
    looks: AtomicU64,
    looks_with_rows: AtomicU64,
    idle: AtomicBool,
    hints: AtomicU64,
    trouble: Mutex<Option<String>>,
    /// Told what it is, while it runs.
    beat: Mutex<Option<Beat>>,
}

impl Gauge {
    /// It runs from now on, until [`Gauge::end`].
    pub(super) fn begin(&self, beat: Beat) {
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = Some(beat);
    }

    pub(super) fn end(&self) {
        self.role(Role::Stopped);
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn beat(&self, tell: impl FnOnce(&Beat)) {
        if let Some(beat) = &*self.beat.lock().unwrap_or_else(PoisonError::into_inner) {
            tell(beat);
        }
    }

    pub(super) fn role(&self, role: Role) {
        self.beat(|beat| match role {
            Role::Stopped => beat.state("stopped"),
            Role::Alone => beat.state("at work"),
            Role::Standby => beat.state("standing by"),
            Role::Parts { parts } => beat.state(format!("on {parts} parts")),
            Role::Leading { term } => beat.state(format!("leading, term {term}")),
        });
        *self.role.lock().unwrap_or_else(PoisonError::into_inner) = role;
    }

    pub(super) fn recorded(&self, outcome: &Outcome) {
        self.outcomes[outcome_slot(outcome.kind)].fetch_add(1, Relaxed);
        if matches!(outcome.next, Next::Dead { .. }) {
            self.dead.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn looked(&self, found: usize, idle: bool) {
        METER.outbox_looks.add(0, 1);
        self.idle.store(idle, Relaxed);
        self.looks.fetch_add(1, Relaxed);
        self.looks_with_rows.fetch_add(u64::from(found > 0), Relaxed);
    }

    /// There is more to deliver than the last look has seen.
    pub(super) fn more(&self) {
        self.idle.store(false, Relaxed);
    }

    pub(super) fn hinted(&self) {
        METER.outbox_hints.add(0, 1);
        self.hints.fetch_add(1, Relaxed);
    }

    pub(super) fn busy(&self, held: usize, in_flight: usize) {
        self.held.store(held as u64, Relaxed);
        self.in_flight.store(in_flight as u64, Relaxed);
    }

    pub(super) fn trouble(&self, trouble: Option<String>) {
        self.beat(|beat| beat.trouble(trouble.clone()));
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// A snapshot; `swept` is the sweeper's own number.
    pub(super) fn read(&self, swept: u64) -> RelayStatus {
        let outcome = |kind| self.outcomes[outcome_slot(kind)].load(Relaxed);
        RelayStatus {
            role: *self.role.lock().unwrap_or_else(PoisonError::into_inner),
            delivered: outcome(Kind::Success),
            rejected: outcome(Kind::Rejected),
            transient: outcome(Kind::Transient),
            poison: outcome(Kind::Poison),
            dead: self.dead.load(Relaxed),
            held: self.held.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            looks: self.looks.load(Relaxed),
            looks_with_rows: self.looks_with_rows.load(Relaxed),
            idle: self.idle.load(Relaxed),
            hints: self.hints.load(Relaxed),
            swept,
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
