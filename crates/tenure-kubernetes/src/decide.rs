//! What a claim, a renewal and a release come to. Plain functions: no I/O and no clock.
//!
//! ```text
//!   no object ───────────────────▶ create
//!   nobody in it ────────────────▶ take        at once
//!   this very claim in it ───────▶ again       written anew: its ttl counts from now
//!   unchanged for its duration ──▶ take
//!   its session is proven gone ──▶ take
//!   else ────────────────────────▶ held        for what is left of its duration
//! ```
//!
//! How long is left comes from [`sight`](crate::sight). Whatever is decided here is written by compare-and-swap against the
//! very object that was looked at: who was slower is told 409 and looks again.

use std::time::Duration;

use tenure_core::id::{Node, Unique};
use tenure_core::lease::{Announced, Claim, Grant, Loss, Renewal, Term};
use tenure_core::time::StoreTime;

use crate::sight::Highest;

/// A Lease object, as far as decisions go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// New for every object: a deleted and recreated one counts its terms anew.
    pub(crate) uid: String,
    /// New for every change.
    pub(crate) version: String,
    /// Who holds it, as the object says; `None` when nobody does.
    pub(crate) holder: Option<String>,
    /// The holder, or the last one. Another client's has its identity for a name and nothing else.
    pub(crate) node: Node,
    /// In microseconds, by whatever clock. Compared only for being the same.
    pub(crate) renew_time: Option<i64>,
    /// How often it changed hands.
    pub(crate) transitions: i32,
    /// How long the holder's record holds without a change.
    pub(crate) duration: Duration,
    /// What Tenure wrote of the present holder, or of the last one; `None` when another client wrote last.
    pub(crate) entry: Option<Entry>,
}

/// What Tenure writes of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) claim: Unique,
    pub(crate) renewals: u64,
    pub(crate) kind: Option<String>,
    pub(crate) presence: Option<Announced>,
    pub(crate) acquired_at: StoreTime,
    pub(crate) renewed_at: StoreTime,
    pub(crate) released_at: Option<StoreTime>,
}

impl Seen {
    /// The number of the present grant, or of the last one. Other clients count from 0, terms from 1.
    pub(crate) fn term(&self) -> Option<Term> {
        Term::new(u64::try_from(i64::from(self.transitions) + 1).ok()?)
    }

    /// Whether this is exactly the grant of that term, that process and that claim, in office or not.
    fn is_of(&self, grant: &Grant) -> bool {
        self.entry.as_ref().is_some_and(|entry| {
            self.term() == Some(grant.term)
                && self.node.incarnation == grant.node.incarnation
                && entry.claim == grant.claim
        })
    }
}

/// What a claim comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// Make the object, with this number of transitions.
    Create(i32),
    /// Put the claimant into the object, with this number of transitions.
    Take(i32),
    /// It is in there already: write it anew, so that others count from now as it does itself.
    Again,
    /// Someone else holds it for so long.
    Held(Duration),
}

/// The numbers of a lease cannot be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// There is no next one.
    Exhausted,
    /// The object stands below what this process has seen in it.
    WentBack { found: i64, seen: Term },
}

/// Decides a claim on what was seen; `left` is what the holder has left by our clock, `highest` the highest term that this
/// process has ever seen of the lease.
pub(crate) fn claim(
    seen: Option<&Seen>,
    left: Duration,
    highest: Option<&Highest>,
    claim: &Claim,
) -> Result<Claimed, Numbers> {
    let Some(seen) = seen else {
        // The numbers of the object that is gone are gone on with, as far as we have seen them.
        let transitions = highest.map_or(Ok(0), |highest| after(highest.term))?;
        return Ok(Claimed::Create(transitions));
    };
    if seen.holder.is_some() && !left.is_zero() {
        if is_same_claim(seen, claim) {
            return Ok(Claimed::Again);
        }
        if !is_proven_gone(seen, claim) {
            return Ok(Claimed::Held(left));
        }
    }
    next_transitions(seen, highest).map(Claimed::Take)
}

/// A claim repeated after its answer was lost: the same process, the same attempt.
fn is_same_claim(seen: &Seen, claim: &Claim) -> bool {
    seen.entry
        .as_ref()
        .is_some_and(|entry| seen.node.incarnation == claim.node.incarnation && entry.claim == claim.id)
}

/// Whether the claim proves that the holder's announced session is gone.
fn is_proven_gone(seen: &Seen, claim: &Claim) -> bool {
    let announced = seen.entry.as_ref().and_then(|entry| entry.presence.as_ref());
    let (Some(evidence), Some(announced)) = (claim.evidence, announced) else { return false };
    Some(evidence.term) == seen.term() && evidence.session == announced.session
}

fn next_transitions(seen: &Seen, highest: Option<&Highest>) -> Result<i32, Numbers> {
    let next = seen.transitions.checked_add(1).ok_or(Numbers::Exhausted)?;
    match highest {
        Some(Highest { term, uid }) if seen.term().is_none_or(|found| found < *term) => {
            if *uid == seen.uid {
                let found = i64::from(seen.transitions) + 1;
                return Err(Numbers::WentBack { found, seen: *term });
            }
            // Another object, which began anew: rise above what we have seen in the one before.
            Ok(next.max(after(*term)?))
        }
        _ => Ok(next),
    }
}

/// The transitions whose term comes after this one.
fn after(term: Term) -> Result<i32, Numbers> {
    i32::try_from(term.get()).map_err(|_| Numbers::Exhausted)
}

/// What a renewal comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// Write it.
    Write,
    /// The grant is over.
    Lost(Loss),
    /// A later renewal of the same grant was there first.
    OutOfOrder,
}

/// Decides a renewal of exactly this grant. `granted_in` is the object in which it was granted, where that is known: one of
/// the same name that was made since is another.
pub(crate) fn renew(
    seen: Option<&Seen>,
    left: Duration,
    granted_in: Option<&str>,
    grant: &Grant,
    renewal: &Renewal,
) -> Renewed {
    let Some(seen) = seen else { return Renewed::Lost(Loss::Unknown) };
    if !seen.is_of(grant) {
        return Renewed::Lost(taken(seen));
    }
    if granted_in.is_some_and(|uid| uid != seen.uid) {
        return Renewed::Lost(Loss::Unknown);
    }
    if seen.holder.is_none() {
        return Renewed::Lost(Loss::Released);
    }
    if left.is_zero() {
        // Nobody took it, but whoever saw it unchanged for as long as we did may be about to.
        return Renewed::Lost(Loss::Expired);
    }
    match &seen.entry {
        Some(entry) if renewal.number <= entry.renewals => Renewed::OutOfOrder,
        _ => Renewed::Write,
    }
}

/// Why a grant that is not in the object is over.
fn taken(seen: &Seen) -> Loss {
    match (seen.term(), &seen.holder, &seen.entry) {
        // Another client took it and gave it back: there is no name to tell.
        (_, None, None) | (None, ..) => Loss::Released,
        (Some(term), ..) => Loss::Taken { term, by: seen.node.name.clone() },
    }
}

/// Whether exactly this grant is in office, and may be given back. One whose ttl has ended may be too.
pub(crate) fn may_release(seen: Option<&Seen>, granted_in: Option<&str>, grant: &Grant) -> bool {
    seen.is_some_and(|seen| {
        seen.is_of(grant) && seen.holder.is_some() && granted_in.is_none_or(|uid| uid == seen.uid)
    })
}

/// Whether the grant of this term is over, as far as an object can tell: nobody is in it, or another grant.
pub(crate) fn is_over(seen: Option<&Seen>, term: Term) -> bool {
    seen.is_none_or(|seen| seen.holder.is_none() || seen.term() != Some(term))
}

/// The seconds an object records for a ttl: whole ones, and not fewer than the ttl has.
pub(crate) fn whole_seconds(ttl: Duration) -> i32 {
    let seconds = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
    i32::try_from(seconds).unwrap_or(i32::MAX).max(1)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
pub(crate) mod tests;
