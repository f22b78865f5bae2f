//! Decisions about holdings that were granted elsewhere, and are written down here.

use std::time::Duration;

use super::{Decision, TermError, acquire, ended};
use crate::lease::{Acquire, Cause, Claim, LeaseRecord, Term};
use crate::registry::{Entry, Recorded};
use crate::time::StoreTime;

/// Decides how a holding that was granted elsewhere is written down.
///
/// A lease that this store itself grants (`backend`) is never overwritten by a recording while it is held.
pub fn record(
    record: Option<&LeaseRecord>,
    remembered: Option<Term>,
    entry: &Entry,
    stale_after: Duration,
    backend: &str,
    now: StoreTime,
) -> Result<Decision<Recorded>, TermError> {
    if record.is_some_and(|record| record.is_held(now) && record.backend == backend) {
        return Ok(Decision::unchanged(Recorded::NameTaken));
    }
    // The same holding again, because the first answer was lost: it keeps its term.
    if let Some(record) = record.filter(|record| record.claim == entry.claim && record.released_at.is_none())
    {
        let write = LeaseRecord { renewed_at: now, expires_at: now.after(stale_after), ..record.clone() };
        return Ok(Decision { outcome: Recorded::At(record.term), write: Some(write), history: Vec::new() });
    }
    // Whoever granted it says that the former holder is gone; what is left to say here is how that was noticed.
    let gone = record.filter(|record| record.released_at.is_none()).map(|record| {
        let cause = if record.is_held(now) { Cause::Crashed } else { Cause::Expired };
        record.change(cause, now)
    });
    let claim = Claim {
        name: entry.name.clone(),
        node: entry.node.clone(),
        id: entry.claim,
        ttl: stale_after,
        kind: entry.kind.clone(),
        evidence: None,
    };
    let free = record.map(|record| LeaseRecord { released_at: Some(now), ..record.clone() });
    let decision = acquire(free.as_ref(), remembered, &claim, &entry.backend, now)?;
    let outcome = match decision.outcome {
        Acquire::Granted(grant) => Recorded::At(grant.term),
        Acquire::Held(_) => Recorded::NameTaken,
    };
    Ok(Decision {
        outcome,
        write: decision.write,
        history: gone.into_iter().chain(decision.history).collect(),
    })
}

/// Decides whether a recorded holding still stands in its row, and stamps it as living.
pub fn touch(
    record: Option<&LeaseRecord>,
    entry: &Entry,
    term: Term,
    stale_after: Duration,
    now: StoreTime,
) -> Decision<bool> {
    match recorded(record, entry, term) {
        None => Decision::unchanged(false),
        Some(record) => {
            let write = LeaseRecord { renewed_at: now, expires_at: now.after(stale_after), ..record.clone() };
            Decision { outcome: true, write: Some(write), history: Vec::new() }
        }
    }
}

/// Decides the release of a recorded holding.
pub fn stamp_released(
    record: Option<&LeaseRecord>,
    entry: &Entry,
    term: Term,
    now: StoreTime,
) -> Decision<bool> {
    match recorded(record, entry, term) {
        None => Decision::unchanged(false),
        Some(record) => {
            let record = LeaseRecord { renewed_at: now, ..record.clone() };
            ended(&record, Cause::Released, true, now)
        }
    }
}

fn recorded<'a>(record: Option<&'a LeaseRecord>, entry: &Entry, term: Term) -> Option<&'a LeaseRecord> {
    record.filter(|record| record.term == term && record.claim == entry.claim && record.released_at.is_none())
}

/// Decides whether a row has been forgotten by its recorder: then it is stamped as expired.
pub fn sweep(record: &LeaseRecord, backend: &str, now: StoreTime) -> Option<Decision<()>> {
    let forgotten = record.backend != backend && record.released_at.is_none() && now >= record.expires_at;
    forgotten.then(|| ended(record, Cause::Expired, (), now))
}
