//! Decisions about holdings that were granted elsewhere, and are written down here.

use std::time::Duration;

use super::{Decision, TermError, acquire, ended};
use crate::lease::{Acquire, Cause, Claim, LeaseRecord, Loss, Term};
use crate::mutation::{Rule, off};
use crate::registry::{Entry, Origin, Recorded, Touched};
use crate::time::StoreTime;

/// Decides how a holding that was granted elsewhere is written down.
///
/// A lease that this store itself grants (`backend`) is never overwritten by a recording while it is held; nor is one whose number
/// says nothing of this one's: only whoever granted it knows that its holder is gone. Of two holdings that can be compared the
/// later one stays, whichever is written first.
pub fn record(
    record: Option<&LeaseRecord>,
    remembered: Option<Term>,
    entry: &Entry,
    stale_after: Duration,
    backend: &str,
    now: StoreTime,
) -> Result<Decision<Recorded>, TermError> {
    let held = record.filter(|record| record.is_held(now));
    if let Some(holding) = held.filter(|record| record.is_granted_by(backend)) {
        return Ok(Decision::unchanged(taken(holding, None)));
    }
    // The same holding again, because the first answer was lost: it keeps its term.
    if let Some(record) = record.filter(|record| {
        is_of(record, entry) && record.released_at.is_none() && record.origin == entry.origin
    }) {
        let write = LeaseRecord { renewed_at: now, expires_at: now.after(stale_after), ..record.clone() };
        return Ok(Decision { outcome: Recorded::At(record.term), write: Some(write), history: Vec::new() });
    }
    let before = match record.map(|record| compare(record, entry)) {
        None | Some(Compared::Later) => None,
        Some(Compared::Behind(behind)) => return Ok(Decision::unchanged(behind)),
        Some(Compared::Unknown(before)) => Some(before),
    };
    if let (Some(holding), Some(_)) = (held.filter(|record| !is_of(record, entry)), &before)
        && !off(Rule::PlacesTakeTurns)
    {
        return Ok(Decision::unchanged(taken(holding, Some(holding.backend.clone()))));
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
    let outcome = match (decision.outcome, before) {
        (Acquire::Granted(grant), None) => Recorded::At(grant.term),
        (Acquire::Granted(grant), Some(before)) => Recorded::Anew { term: grant.term, before },
        (Acquire::Held(holder), _) => Recorded::NameTaken { by: holder.node.name, place: None },
    };
    Ok(Decision {
        outcome,
        write: decision.write.map(|write| LeaseRecord { origin: entry.origin.clone(), ..write }),
        history: gone.into_iter().chain(decision.history).collect(),
    })
}

fn taken(holding: &LeaseRecord, place: Option<String>) -> Recorded {
    Recorded::NameTaken { by: holding.node.name.clone(), place }
}

/// How a holding stands to the one that is written down.
enum Compared {
    /// It is later, or one of them was not counted elsewhere.
    Later,
    /// It is not later.
    Behind(Recorded),
    /// Both were counted elsewhere, but not by the same one, or not from the same beginning.
    Unknown(Origin),
}

fn compare(record: &LeaseRecord, entry: &Entry) -> Compared {
    let (Some(recorded), Some(origin)) = (&record.origin, &entry.origin) else { return Compared::Later };
    if record.backend != entry.backend || recorded.epoch != origin.epoch {
        return Compared::Unknown(recorded.clone());
    }
    // The same number once more is the same grant only if it is the same claim.
    let later = origin.term > recorded.term || origin.term == recorded.term && is_of(record, entry);
    if later || off(Rule::OriginRises) {
        return Compared::Later;
    }
    Compared::Behind(Recorded::Behind { recorded: recorded.clone(), by: record.node.name.clone() })
}

fn is_of(record: &LeaseRecord, entry: &Entry) -> bool {
    record.claim == entry.claim && record.node.incarnation == entry.node.incarnation
}

/// Decides whether a recorded holding still stands in its row, and stamps it as living. One whose time is over lives again:
/// nobody has taken office since, and whoever granted it says that it holds.
pub fn touch(
    record: Option<&LeaseRecord>,
    entry: &Entry,
    term: Term,
    stale_after: Duration,
    now: StoreTime,
) -> Decision<Touched> {
    let Some(record) = record else { return Decision::unchanged(Touched::Over(Loss::Unknown)) };
    if record.term != term || record.claim != entry.claim {
        let loss = Loss::Taken { term: record.term, by: record.node.name.clone() };
        return Decision::unchanged(Touched::Over(loss));
    }
    if record.released_at.is_some() {
        return Decision::unchanged(Touched::Over(Loss::Released));
    }
    if record.revoked_at.is_some() {
        return Decision::unchanged(Touched::Over(Loss::Revoked));
    }
    let write = LeaseRecord { renewed_at: now, expires_at: now.after(stale_after), ..record.clone() };
    Decision { outcome: Touched::Living, write: Some(write), history: Vec::new() }
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
            let cause = if record.revoked_at.is_some() { Cause::Resigned } else { Cause::Released };
            ended(&record, cause, true, now)
        }
    }
}

fn recorded<'a>(record: Option<&'a LeaseRecord>, entry: &Entry, term: Term) -> Option<&'a LeaseRecord> {
    record.filter(|record| record.term == term && record.claim == entry.claim && record.released_at.is_none())
}

/// Decides whether a row has been forgotten by its recorder: then it is stamped as expired.
pub fn sweep(record: &LeaseRecord, backend: &str, now: StoreTime) -> Option<Decision<()>> {
    let forgotten =
        !record.is_granted_by(backend) && record.released_at.is_none() && now >= record.expires_at;
    forgotten.then(|| ended(record, Cause::Expired, (), now))
}
