//! What a subscription tells of itself.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tenure_core::event::{Position, Stall};

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

#[derive(Debug, Default)]
pub(super) struct Gauge(Mutex<SubscriptionStatus>);

impl Gauge {
    pub(super) fn read(&self) -> SubscriptionStatus {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut SubscriptionStatus)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn state(&self, state: SubscriptionState) {
        self.change(|status| status.state = state);
    }
}
