//! What is known, as somebody gathered it.

use std::time::Duration;

use crate::observe::{RunnerReport, RunnerRow};
use crate::outbox::Pulse;
use crate::time::StoreTime;

/// What is known of a process and its store. What was not asked is left as it is by default, and not judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Whether the store answers.
    pub store: StoreState,
    /// The outbox in numbers, and how old they are.
    pub pulse: Option<(Pulse, Duration)>,
    /// Whether somebody leads.
    pub leader: LeaderState,
    /// The loops of this process.
    pub runners: Vec<RunnerReport>,
    /// The loops of other processes.
    pub others: Option<Others>,
    /// Subscriptions, as the store knows them.
    pub subscriptions: Vec<SubscriptionFacts>,
}

/// Whether the store answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoreState {
    /// It was not asked.
    #[default]
    NotAsked,
    /// It does.
    Answers,
    /// It does not.
    Away {
        /// For how long.
        since: Duration,
        /// What went wrong, without secrets.
        reason: String,
    },
}

/// Whether somebody leads the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaderState {
    /// Nobody is there who could.
    #[default]
    NotWanted,
    /// Somebody does.
    Leads,
    /// Nobody does.
    Vacant {
        /// For how long it was seen to be so.
        since: Duration,
    },
}

/// The loops of other processes, as a store keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Others {
    /// Their reports.
    pub rows: Vec<RunnerRow>,
    /// The store's time.
    pub now: StoreTime,
}

/// A subscription, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionFacts {
    /// What it is called.
    pub name: String,
    /// At most so many events wait.
    pub behind: u64,
    /// How long ago it moved last.
    pub moved_ago: Duration,
}
