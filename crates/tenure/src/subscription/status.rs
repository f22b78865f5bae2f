//! What a subscription tells of itself.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tenure_core::event::{Position, Stall};
use tenure_core::observe::{Counter, METER};

use crate::runners::Beat;

/// What a subscription is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionState {
    /// It was not started.
    #[default]
    New,
    /// It waits for its lease, and reads nothing.
    Standby,
    /// It handles what was appended before.
    CatchingUp,
    /// It has handled all there is, and waits for more.
    Live,
    /// An event cannot be handled, and it stands still there.
    Halted {
        /// Why.
        reason: String,
    },
    /// It was stopped.
    Stopped,
}

/// A subscription's state, and how far it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SubscriptionStatus {
    /// What it is doing.
    pub state: SubscriptionState,
    /// Where its checkpoint is.
    pub checkpoint: Position,
    /// How far everything is handled.
    pub handled: Position,
    /// At most so many events wait.
    pub behind: u64,
    /// How many events were handled since it was started.
    pub events: u64,
    /// What holds all readers up, if something does.
    pub stall: Option<Stall>,
    /// What went wrong last, until something goes right: the store is away, an event cannot be handled.
    pub trouble: Option<String>,
}

impl SubscriptionState {
    fn word(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Standby => "standing by",
            Self::CatchingUp => "catching up",
            Self::Live => "live",
            Self::Halted { .. } => "halted",
            Self::Stopped => "stopped",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Gauge {
    status: Mutex<SubscriptionStatus>,
    told: Mutex<Option<Told>>,
}

/// Who is told, while it runs.
#[derive(Debug)]
struct Told {
    beat: Beat,
    name: String,
    events: Arc<Counter<1>>,
    /// What was told last.
    last: (u64, &'static str, bool),
}

impl Gauge {
    /// It runs from now on, until [`Gauge::end`].
    pub(super) fn begin(&self, name: &str, beat: Beat) {
        let (events, done) = (METER.subscription_events.of(name), self.read().events);
        let told = Told { beat, name: name.to_owned(), events, last: (done, "", false) };
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }

    pub(super) fn end(&self) {
        self.state(SubscriptionState::Stopped);
        if let Some(told) = self.told.lock().unwrap_or_else(PoisonError::into_inner).take() {
            METER.subscription_behind.of(&told.name).forget(0);
        }
    }

    pub(super) fn read(&self) -> SubscriptionStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut SubscriptionStatus)) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut status);
        if let Some(told) = &mut *self.told.lock().unwrap_or_else(PoisonError::into_inner) {
            told.tell(&status);
        }
    }

    /// An event was put aside.
    pub(super) fn parked(&self) {
        if let Some(told) = &*self.told.lock().unwrap_or_else(PoisonError::into_inner) {
            told.beat.count("parked", 1);
            METER.subscription_parked.of(&told.name).add(0, 1);
        }
    }

    /// How far it is behind, once a page is known.
    pub(super) fn behind(&self, events: u64) {
        if let Some(told) = &*self.told.lock().unwrap_or_else(PoisonError::into_inner) {
            METER.subscription_behind.of(&told.name).set(0, events);
        }
    }

    pub(super) fn state(&self, state: SubscriptionState) {
        self.change(|status| status.state = state);
    }
}

impl Told {
    fn tell(&mut self, status: &SubscriptionStatus) {
        let (done, word, troubled) = self.last;
        let fresh = status.events.saturating_sub(done);
        if fresh > 0 {
            self.events.add(0, fresh);
            self.beat.count("events", fresh);
            self.beat.advanced();
        }
        // A text is copied only when it is another one.
        let now = (status.events, status.state.word(), status.trouble.is_some() || status.stall.is_some());
        if now.1 != word {
            self.beat.state(now.1);
        }
        if now.2 || troubled {
            let stall = status.stall.as_ref().map(|stall| stall.reason.clone());
            self.beat.trouble(status.trouble.clone().or(stall));
        }
        if now.1 == "live" && !now.2 {
            self.beat.advanced();
        }
        self.last = now;
    }
}
