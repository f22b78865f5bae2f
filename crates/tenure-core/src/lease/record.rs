//! One row of `tenure_leases`: lease, registry entry and memory of the last term in one.

use std::time::Duration;

use serde::Serialize;

use super::{Announced, Cause, Change, Grant, Holder, LeaseName, Loss, Term};
use crate::id::{Node, Unique};
use crate::registry::Origin;
use crate::time::StoreTime;

/// The row of a lease. There is one per name for ever; a release stamps it, nothing deletes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseRecord {
    /// The lease.
    pub name: LeaseName,
    /// The term of the present holder, or of the last one.
    pub term: Term,
    /// The present holder, or the last one.
    pub node: Node,
    /// The claim by which it holds.
    #[serde(skip)]
    pub claim: Unique,
    /// The number of the last renewal.
    #[serde(skip)]
    pub renewals: u64,
    /// What kind of work it guards.
    pub kind: Option<String>,
    /// What granted it: this store, or something that is only recorded here.
    pub backend: String,
    /// When this term began.
    pub acquired_at: StoreTime,
    /// When it was last renewed.
    pub renewed_at: StoreTime,
    /// When it ends unless it is renewed.
    pub expires_at: StoreTime,
    /// When it was given back.
    pub released_at: Option<StoreTime>,
    /// When an operator revoked it.
    pub revoked_at: Option<StoreTime>,
    /// How the holder's death can be seen before the ttl ends.
    #[serde(skip)]
    pub presence: Option<Announced>,
    /// What it was granted as elsewhere, where this row only records it.
    pub origin: Option<Origin>,
}

impl LeaseRecord {
    /// Whether someone holds the lease at `now`.
    pub fn is_held(&self, now: StoreTime) -> bool {
        self.released_at.is_none() && now < self.expires_at
    }

    /// The holder, as others see it at `now`.
    pub fn holder(&self, now: StoreTime) -> Holder {
        Holder {
            node: self.node.clone(),
            term: self.term,
            expires_in: now.until(self.expires_at),
            presence: self.presence.clone(),
        }
    }

    /// The grant that this row stands for.
    pub fn grant(&self, ttl: Duration) -> Grant {
        Grant {
            name: self.name.clone(),
            term: self.term,
            node: self.node.clone(),
            claim: self.claim,
            ttl,
            acquired_at: self.acquired_at,
        }
    }

    /// Why `term` of `incarnation` no longer holds this row at `now`; `None` when it does.
    pub fn loss(&self, term: Term, incarnation: Unique, now: StoreTime) -> Option<Loss> {
        if self.term != term || self.node.incarnation != incarnation {
            return Some(Loss::Taken { term: self.term, by: self.node.name.clone() });
        }
        if self.released_at.is_some() {
            return Some(Loss::Released);
        }
        if self.revoked_at.is_some() {
            return Some(Loss::Revoked);
        }
        (now >= self.expires_at).then_some(Loss::Expired)
    }

    /// Whether this row is a lease that the store called `backend` grants itself. A row with an origin never is, also where
    /// whoever granted it is a store of the same kind.
    pub fn is_granted_by(&self, backend: &str) -> bool {
        self.backend == backend && self.origin.is_none()
    }

    /// A line of history about this row's term.
    pub(crate) fn change(&self, cause: Cause, at: StoreTime) -> Change {
        Change { name: self.name.clone(), term: self.term, cause, node: self.node.clone(), at, id: None }
    }
}

/// Which leases are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeasePageOf {
    /// Only those whose name comes after this one: the last one of the page before.
    pub after: Option<LeaseName>,
    /// Only those whose name begins so, byte by byte.
    pub prefix: Option<String>,
    /// How many at most.
    pub limit: u32,
}

impl LeasePageOf {
    /// The first ones.
    pub fn first(limit: u32) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether a name is among those that are meant.
    pub fn has(&self, name: &LeaseName) -> bool {
        self.after.as_ref().is_none_or(|after| name > after)
            && self.prefix.as_ref().is_none_or(|prefix| name.as_str().starts_with(prefix.as_str()))
    }
}
