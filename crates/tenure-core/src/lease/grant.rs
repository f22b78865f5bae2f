//! What is asked of a lease store, and what it answers.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{Announced, Evidence, Fence, LeaseName, Term};
use crate::id::{Node, NodeName, Unique};
use crate::time::StoreTime;

/// A request to hold a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The lease.
    pub name: LeaseName,
    /// Who asks.
    pub node: Node,
    /// Which attempt this is. A claim repeated after a lost answer carries the same number and gets the same grant;
    /// two claims of one process carry different numbers and exclude each other.
    pub id: Unique,
    /// How long the grant lasts without a renewal.
    pub ttl: Duration,
    /// What kind of work it guards.
    pub kind: Option<String>,
    /// Proof that the present holder is gone, if there is one.
    pub evidence: Option<Evidence>,
}

/// One holding of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The lease.
    pub name: LeaseName,
    /// The number of this grant.
    pub term: Term,
    /// Who holds it.
    pub node: Node,
    /// The claim that it answers.
    pub claim: Unique,
    /// How long it lasts without a renewal.
    pub ttl: Duration,
    /// When it began, by the store's clock.
    pub acquired_at: StoreTime,
}

impl Grant {
    /// The value that protected writes carry.
    pub fn fence(&self) -> Fence {
        Fence { lease: self.name.clone(), term: self.term }
    }
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquire {
    /// The claimant holds the lease.
    Granted(Grant),
    /// Someone else does.
    Held(Holder),
}

/// Someone who holds a lease, as seen by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Who.
    pub node: Node,
    /// Under which term.
    pub term: Term,
    /// How long until the grant ends unless it is renewed, by the store's clock.
    pub expires_in: Duration,
    /// How the holder's death can be seen before that.
    pub presence: Option<Announced>,
}

/// A request to go on holding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// Counts the renewals of a grant from 1. A renewal that arrives after a later one must not take effect: it could
    /// announce a presence that was withdrawn.
    pub number: u64,
    /// What the row is to say of the holder's presence from now on.
    pub presence: Option<Announced>,
}

/// The answer to a renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renew {
    /// The grant lasts another ttl from now.
    Extended,
    /// The grant is over.
    Lost(Loss),
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The lease is free.
    Released,
    /// That grant did not hold the lease; nothing was changed.
    NotHeld,
}

/// The answer to an operator who wants a holder out of office.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Revoke {
    /// The holder is told at its next renewal, and its fenced writes are refused from now on. The lease is free once
    /// the holder has stopped, at the latest when its ttl ends.
    Asked {
        /// The term that was revoked.
        term: Term,
        /// Who held it.
        node: NodeName,
    },
    /// The lease is free at once; the former holder may still believe in it for a while.
    Forced {
        /// The term that was ended.
        term: Term,
        /// Who held it.
        node: NodeName,
    },
    /// Nobody holds it.
    NotHeld,
}

impl Revoke {
    /// What the audit trail says of it, as action and detail; nothing where nothing was changed.
    pub fn audit(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Asked { term, node } => Some(("lease.revoke", format!("term {term} of {node}"))),
            Self::Forced { term, node } => Some(("lease.revoke.force", format!("term {term} of {node}"))),
            Self::NotHeld => None,
        }
    }
}

/// Why a grant is over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The holder's own trust window ended without a renewal; the store was not asked.
    TrustEnded,
    /// The ttl ended, by the store's clock.
    Expired,
    /// Someone else holds the lease under a later term.
    Taken {
        /// The later term.
        term: Term,
        /// Who holds it.
        by: NodeName,
    },
    /// It was released.
    Released,
    /// An operator revoked it.
    Revoked,
    /// The store does not know the lease at all.
    Unknown,
    /// The holder stopped renewing, because its work did not show progress.
    Stalled,
    /// A write under it was refused; the store did not say why.
    Fenced,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrustEnded => f.write_str("the trust window ended without a renewal"),
            Self::Expired => f.write_str("its ttl ended"),
            Self::Taken { term, by } => write!(f, "{by} holds it under term {term}"),
            Self::Released => f.write_str("it was released"),
            Self::Revoked => f.write_str("an operator revoked it"),
            Self::Unknown => f.write_str("the store does not know the lease"),
            Self::Stalled => f.write_str("the work under it showed no progress"),
            Self::Fenced => f.write_str("a write under it was refused"),
        }
    }
}
