//! The one who sees everything: facts of the store and beliefs of the nodes, held against the invariants after every step.
//!
//! No part of the system under test can see what the oracle sees; that is the point of it.

use tenure_core::id::Unique;
use tenure_core::lease::{Change, LeaseRecord, Term};
use tenure_core::time::StoreTime;

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

/// Something that happened in the store.
#[derive(Debug, Clone)]
pub enum Fact {
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

    /// Judges by all invariants but one: for worlds in which its premise does not hold.
    pub fn without(name: &str) -> Self {
        Self {
            invariants: invariants::all().into_iter().filter(|invariant| invariant.name() != name).collect(),
        }
    }

    /// Judges one step.
    pub fn judge(&mut self, moment: &Moment<'_>) -> Result<(), Violation> {
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
