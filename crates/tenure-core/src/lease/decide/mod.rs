//! The decisions of a lease store: plain functions from a row, a request and the store's clock to an answer and a row.
//!
//! A backend reads the row under a lock (or compares and swaps it), calls one of these, writes what it says in the same
//! transaction, and answers. Backends that express a decision in one statement instead (renewals, for speed) are held to
//! the same answers by the conformance suite.

mod registry;

pub use self::registry::{record, stamp_released, sweep, touch};
use super::{
    Acquire, Cause, Change, Claim, Fence, FenceCheck, Fenced, Grant, LeaseRecord, Loss, Release, Renew,
    Renewal, Revoke, Term,
};
use crate::mutation::{Rule, off};
use crate::time::StoreTime;

/// An answer, and what must be written for it to be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<O> {
    /// The answer to the one who asked.
    pub outcome: O,
    /// The row to write; `None` leaves it as it is.
    pub write: Option<LeaseRecord>,
    /// The lines of history to add, oldest first.
    pub history: Vec<Change>,
}

impl<O> Decision<O> {
    fn unchanged(outcome: O) -> Self {
        Self { outcome, write: None, history: Vec::new() }
    }
}

/// Terms have run out, or a row's term lies below what its history remembers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// The last possible term is used up.
    #[error("lease {lease} has used up all terms")]
    Exhausted {
        /// The lease.
        lease: String,
    },
    /// The row's term lies below one that was granted before: it was restored from a backup, or edited.
    #[error(
        "lease {lease} stands at term {found}, but term {remembered} was granted before: the row was restored from \
         a backup or edited; set its term to at least {remembered} by hand"
    )]
    WentBack {
        /// The lease.
        lease: String,
        /// The term in the row.
        found: Term,
        /// The highest term the history remembers.
        remembered: Term,
    },
}

/// Decides a claim.
///
/// `remembered` is the highest term that the lease's history knows; it keeps terms rising when a row was deleted, and
/// finds out when a row went back.
pub fn acquire(
    record: Option<&LeaseRecord>,
    remembered: Option<Term>,
    claim: &Claim,
    backend: &str,
    now: StoreTime,
) -> Result<Decision<Acquire>, TermError> {
    let mut history = Vec::new();
    if let Some(record) = record {
        if record.is_held(now) {
            if same_claim(record, claim) {
                return Ok(grant_again(record, claim, now));
            }
            if !evidence_holds(record, claim) {
                return Ok(Decision::unchanged(Acquire::Held(record.holder(now))));
            }
            history.push(record.change(Cause::Crashed, now));
        } else if record.released_at.is_none() {
            history.push(record.change(Cause::Expired, now));
        }
    }
    let term = next_term(record, remembered, claim)?;
    let record = LeaseRecord {
        name: claim.name.clone(),
        term,
        node: claim.node.clone(),
        claim: claim.id,
        renewals: 0,
        kind: claim.kind.clone(),
        backend: backend.to_owned(),
        acquired_at: now,
        renewed_at: now,
        expires_at: now.after(claim.ttl),
        released_at: None,
        revoked_at: None,
        presence: None,
        origin: None,
    };
    history.push(record.change(Cause::Acquired, now));
    Ok(Decision { outcome: Acquire::Granted(record.grant(claim.ttl)), write: Some(record), history })
}

/// A claim repeated after its answer was lost: the same process, the same attempt.
fn same_claim(record: &LeaseRecord, claim: &Claim) -> bool {
    record.node.incarnation == claim.node.incarnation
        && record.claim == claim.id
        && record.revoked_at.is_none()
}

fn grant_again(record: &LeaseRecord, claim: &Claim, now: StoreTime) -> Decision<Acquire> {
    let record = LeaseRecord { renewed_at: now, expires_at: now.after(claim.ttl), ..record.clone() };
    Decision { outcome: Acquire::Granted(record.grant(claim.ttl)), write: Some(record), history: Vec::new() }
}

/// Whether the claim proves that the row's present holder is gone.
fn evidence_holds(record: &LeaseRecord, claim: &Claim) -> bool {
    let (Some(evidence), Some(presence)) = (claim.evidence, &record.presence) else { return false };
    evidence.term == record.term && (evidence.session == presence.session || off(Rule::EvidenceNamesSession))
}

fn next_term(
    record: Option<&LeaseRecord>,
    remembered: Option<Term>,
    claim: &Claim,
) -> Result<Term, TermError> {
    if off(Rule::TermForEver) && record.is_none_or(|r| r.released_at.is_some()) {
        return Ok(Term::FIRST);
    }
    let lease = || claim.name.to_string();
    let last = match (record.map(|r| r.term), remembered) {
        (Some(found), Some(remembered)) if found < remembered => {
            return Err(TermError::WentBack { lease: lease(), found, remembered });
        }
        (found, remembered) => found.max(remembered),
    };
    match last {
        None => Ok(Term::FIRST),
        Some(last) => last.next().ok_or_else(|| TermError::Exhausted { lease: lease() }),
    }
}

/// Decides a renewal. A grant that has expired is over even if nobody took the lease since.
pub fn renew(
    record: Option<&LeaseRecord>,
    grant: &Grant,
    renewal: &Renewal,
    now: StoreTime,
) -> Decision<RenewAnswer> {
    let Some(record) = record else {
        return Decision::unchanged(RenewAnswer::Is(Renew::Lost(Loss::Unknown)));
    };
    if let Some(loss) = record.loss(grant.term, grant.node.incarnation, now)
        && !(off(Rule::RenewByTerm) && record.is_held(now))
    {
        return Decision::unchanged(RenewAnswer::Is(Renew::Lost(loss)));
    }
    if renewal.number <= record.renewals && !off(Rule::RenewalsInOrder) {
        return Decision::unchanged(RenewAnswer::OutOfOrder);
    }
    let record = LeaseRecord {
        renewals: renewal.number,
        renewed_at: now,
        expires_at: now.after(grant.ttl),
        presence: renewal.presence.clone(),
        ..record.clone()
    };
    Decision { outcome: RenewAnswer::Is(Renew::Extended), write: Some(record), history: Vec::new() }
}

/// What a renewal came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenewAnswer {
    /// A proper answer.
    Is(Renew),
    /// A later renewal of the same grant was there first. The caller has moved on; the answer is an error.
    OutOfOrder,
}

/// Decides a release. Only the exact grant can be released; a released or lost one changes nothing.
pub fn release(record: Option<&LeaseRecord>, grant: &Grant, now: StoreTime) -> Decision<Release> {
    let Some(record) = record else { return Decision::unchanged(Release::NotHeld) };
    let exact = record.term == grant.term && record.node.incarnation == grant.node.incarnation;
    if record.released_at.is_some() || !(exact || off(Rule::ReleaseByTerm)) {
        return Decision::unchanged(Release::NotHeld);
    }
    let cause = if record.revoked_at.is_some() { Cause::Resigned } else { Cause::Released };
    ended(record, cause, Release::Released, now)
}

/// Decides an operator's wish to have a holder out of office.
pub fn revoke(record: Option<&LeaseRecord>, force: bool, now: StoreTime) -> Decision<Revoke> {
    let Some(record) = record.filter(|record| record.is_held(now)) else {
        return Decision::unchanged(Revoke::NotHeld);
    };
    let (term, node) = (record.term, record.node.name.clone());
    if force {
        return ended(record, Cause::Fenced, Revoke::Forced { term, node }, now);
    }
    let record = LeaseRecord { revoked_at: record.revoked_at.or(Some(now)), ..record.clone() };
    Decision { outcome: Revoke::Asked { term, node }, write: Some(record), history: Vec::new() }
}

fn ended<O>(record: &LeaseRecord, cause: Cause, outcome: O, now: StoreTime) -> Decision<O> {
    let history = vec![record.change(cause, now)];
    let record = LeaseRecord { released_at: Some(now), presence: None, ..record.clone() };
    Decision { outcome, write: Some(record), history }
}

/// Decides about a fence. A row that has expired refuses too: its holder has stopped trusting itself before.
pub fn check(record: Option<&LeaseRecord>, fence: &Fence, now: StoreTime) -> FenceCheck {
    if off(Rule::Fence) {
        return FenceCheck::Holds;
    }
    let loss = match record {
        None => Some(Loss::Unknown),
        Some(record) => record.loss(fence.term, record.node.incarnation, now),
    };
    match loss {
        None => FenceCheck::Holds,
        Some(loss) => FenceCheck::Refused(Fenced { fence: fence.clone(), loss }),
    }
}
