//! The one who sees everything: facts of the store and beliefs of the nodes, held against the invariants after every step.
//!
//! No part of the system under test can see what the oracle sees; that is the point of it.

mod cluster;
mod events;

use std::sync::Arc;

use tenure_core::id::Unique;
use tenure_core::lease::{Change, LeaseRecord, Term};
use tenure_core::outbox::{MessageId, Place, RowId, State};
use tenure_core::time::StoreTime;

pub use cluster::{ClusterFact, Ordered, Runner};
pub use events::EventFact;

use crate::invariants::{self, Invariant};

/// Who made the store change its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A claim.
    Claim {
        /// The claimant.
        incarnation: Unique,
        /// Its attempt.
        claim: Unique,
    },
    /// A renewal of exactly this grant.
    Renewal {
        /// The grant's term.
        term: Term,
        /// The grant's holder.
        incarnation: Unique,
    },
    /// A release of exactly this grant.
    Release {
        /// The grant's term.
        term: Term,
        /// The grant's holder.
        incarnation: Unique,
    },
    /// An operator, through the proper door.
    Operator,
    /// Someone with a database shell.
    Hand,
}

/// A change of the row.
#[derive(Debug, Clone)]
pub struct RowChange {
    /// Who asked for it.
    pub asker: Asker,
    /// The row before.
    pub before: Option<LeaseRecord>,
    /// The row after.
    pub after: Option<LeaseRecord>,
}

/// Who changed where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// A producer's transaction, by its commit.
    Producer,
    /// A relay, by recording an attempt.
    Relay,
    /// An operator, by a retry.
    Retry,
    /// An operator, by discarding it.
    Discard,
    /// Retention.
    Sweeper,
}

/// Where a message stands in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// How many attempts count.
    pub attempts: u32,
    /// When it is due; `None` when it is not pending, or never due.
    pub due_at: Option<StoreTime>,
    /// Whether its source stands still because of it.
    pub halts: bool,
}

/// A message that a committed transaction has put into the outbox.
#[derive(Debug, Clone)]
pub struct Commitment {
    /// Its row.
    pub row: RowId,
    /// Its id, unless the row holds nonsense.
    pub id: Option<MessageId>,
    /// What orders it.
    pub lane: Option<Arc<str>>,
    /// Where it stands in its source.
    pub place: Place,
}

/// Something that happened in the store, at the receiver, or in the hands of a relay.
#[derive(Debug, Clone)]
pub enum Fact {
    /// Messages have so many attempts at most.
    Budget(u32),
    /// A message was committed.
    Committed(Commitment),
    /// A message has left a relay.
    Sent {
        /// Its row.
        row: RowId,
    },
    /// A relay has made an attempt, and knows how it ended.
    Tried {
        /// The relay.
        term: Term,
        /// The message's row.
        row: RowId,
        /// The attempt's number.
        attempt: u32,
    },
    /// A relay found that a row cannot be read by anyone, and goes on with the next one of its source.
    PassedOver {
        /// Its row.
        row: RowId,
    },
    /// A message took effect.
    Effect {
        /// Its id.
        id: MessageId,
    },
    /// The place of a message in the tables changed.
    Moved {
        /// Its row.
        row: RowId,
        /// By whom.
        by: Mover,
        /// Where it stood; `None`: there was no such row.
        before: Option<Standing>,
        /// Where it stands; `None`: there is no such row any more.
        after: Option<Standing>,
    },
    /// The attempts of a message as they stand in the tables, after something was recorded.
    Attempts {
        /// Its row.
        row: RowId,
        /// Their numbers, as they were added.
        numbers: Vec<u32>,
    },
    /// An operator has retried or discarded.
    Steered {
        /// How many messages changed.
        changed: usize,
        /// How many he was told of.
        told: usize,
        /// How many lines of the audit there are more.
        audited: usize,
    },
    /// A relay's change of the tables arrived.
    Recorded {
        /// The term of its fence.
        term: Term,
        /// Whether it was let in.
        accepted: bool,
    },

    /// Something happened to a cluster.
    Cluster(ClusterFact),
    /// Something happened to events or to those who read them.
    Event(EventFact),
    /// The row changed.
    Row(Box<RowChange>),
    /// A new grant began.
    Granted {
        /// Its term.
        term: Term,
    },
    /// A line was added to the history.
    Line(Change),
    /// A protected write arrived.
    Write {
        /// The term of its fence.
        term: Term,
        /// Whether it was let in.
        accepted: bool,
    },
    /// A term was ended behind its holder's back, which is documented to leave two believers for a while.
    Overruled {
        /// The term.
        term: Term,
    },
}

/// A node that believes that it holds the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Believer {
    /// Which node.
    pub node: usize,
    /// Under which term.
    pub term: Term,
}

/// The world after a step.
#[derive(Debug)]
pub struct Moment<'a> {
    /// The true time.
    pub now: StoreTime,
    /// What happened in this step.
    pub facts: &'a [Fact],
    /// Who believes now.
    pub believers: &'a [Believer],
    /// The copies of daemons whose code runs now.
    pub runners: &'a [Runner],
}

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its name.
    pub invariant: &'static str,
    /// What was seen.
    pub message: String,
}

/// Holds every step against every invariant.
#[derive(Debug)]
pub struct Oracle {
    invariants: Vec<Box<dyn Invariant>>,
}

impl Oracle {
    /// Judges by all invariants.
    pub fn new() -> Self {
        Self { invariants: invariants::all() }
    }

    /// Judges by the invariants of events.
    pub fn of_events() -> Self {
        Self { invariants: invariants::of_events() }
    }

    /// Judges by the invariants of a cluster.
    pub fn of_cluster() -> Self {
        Self { invariants: invariants::of_cluster() }
    }

    /// Judges by all invariants but one: for worlds in which its premise does not hold.
    pub fn without(name: &str) -> Self {
        Self {
            invariants: invariants::all().into_iter().filter(|invariant| invariant.name() != name).collect(),
        }
    }

    /// Judges one step.
    pub fn judge(&mut self, moment: &Moment<'_>) -> Result<(), Violation> {
        // Most steps change nothing that an invariant is about: facts, a second believer, or copies of daemons.
        if moment.facts.is_empty() && moment.believers.len() < 2 && moment.runners.is_empty() {
            return Ok(());
        }
        for invariant in &mut self.invariants {
            invariant.check(moment).map_err(|message| Violation { invariant: invariant.name(), message })?;
        }
        Ok(())
    }
}

impl Default for Oracle {
    fn default() -> Self {
        Self::new()
    }
}
