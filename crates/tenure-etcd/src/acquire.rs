//! Claims.
//!
//! One read, then an etcd lease of its own, then one transaction that writes the key if there is none. A claim holds
//! nothing while it waits, so there is no session of a waiter that could die unnoticed (etcd#11456): the etcd lease is
//! made after the read found the lease free, and etcd refuses the transaction if that lease has ended before it.

use std::time::Duration;

use etcd_client::{Compare, CompareOp, PutOptions, Txn, TxnOp};
use tenure_core::StoreError;
use tenure_core::lease::{Acquire, Claim, Grant, Holder, Term};

use crate::call::{Call, Granted, OnLease};
use crate::keys::Keys;
use crate::look::{Held, Look, is_free};
use crate::renew::{Kept, keep};
use crate::row::{Row, wall_clock};

/// How often a claim may find that the lease has changed hands since it looked.
const TRIES: u32 = 16;
/// A holder whose time is up may be there for half a second more: etcd looks for ended leases that often. Nobody gains by
/// asking at every moment of it.
const OVERDUE: Duration = Duration::from_millis(100);

/// An answer, and what the terms of the grant are counted from.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) acquire: Acquire,
    pub(crate) epoch: Option<String>,
}

/// Decides a claim.
pub(crate) async fn acquire(call: &mut Call, keys: &Keys, claim: &Claim) -> Result<Answer, StoreError> {
    for _ in 0..TRIES {
        let look = Look::take(call, keys).await?;
        let Some(held) = &look.held else {
            match take(call, keys, claim, &look).await? {
                Some(answer) => return Ok(answer),
                None => continue,
            }
        };
        if is_same_claim(held, claim) {
            // The caller trusts the answer from the start of this attempt on: the ttl must begin again.
            let touched = held.row.touched(held.term);
            match keep(call, keys, held, touched).await? {
                Kept::Yes => return Ok(granted(&look, held.row.grant(&keys.name, held.term, claim.ttl))),
                Kept::Changed => continue,
            }
        }
        if proves_gone(held, claim) {
            depose(call, keys, held).await?;
            continue;
        }
        let holder = holder(call, held).await?;
        return Ok(Answer { acquire: Acquire::Held(holder), epoch: None });
    }
    Err(call.busy("the lease changed hands at every try to claim it"))
}

/// Takes a lease that was seen to be free; `None` when it is not any more.
async fn take(
    call: &mut Call,
    keys: &Keys,
    claim: &Claim,
    look: &Look,
) -> Result<Option<Answer>, StoreError> {
    look.refuse_to_go_back(call, keys)?;
    let lease = call.grant(claim.ttl).await?;
    let row = Row::of(claim, lease.seconds);
    let json = row.to_json(call.label())?;
    // The first claim of all marks the keyspace, so that one made anew under the same address has another mark.
    let new_birth = claim.id.to_string().into_bytes();
    let birth = look.birth.as_ref().unwrap_or(&new_birth);
    let is_here = match &look.birth {
        Some(birth) => Compare::value(keys.birth.as_str(), CompareOp::Equal, birth.clone()),
        None => Compare::create_revision(keys.birth.as_str(), CompareOp::Equal, 0),
    };
    let mut puts = vec![put_held(keys, &json, lease), TxnOp::put(keys.last.as_str(), json, None)];
    if look.birth.is_none() {
        puts.push(TxnOp::put(keys.birth.as_str(), birth.clone(), None));
    }
    let txn = Txn::new().when([is_free(keys), is_here]).and_then(puts);
    // Without an answer the etcd lease is left alone: the key may be there, and the same claim then finds it.
    let answer = match call.txn_on_lease("claiming the lease", txn).await? {
        OnLease::Done(answer) => answer,
        OnLease::Gone => return Err(call.failed("the etcd lease of this claim ended before it was used")),
    };
    if !answer.succeeded() {
        // Lost to another: campaigns that were lost leave no etcd lease behind.
        call.tidy_up(lease.lease).await;
        return Ok(None);
    }
    let Some(term) = answer.header().and_then(|header| Term::from_column(header.revision())) else {
        return Err(call.failed("claiming the lease: etcd did not say at which revision"));
    };
    let epoch = Some(look.epoch(birth));
    Ok(Some(Answer { acquire: Acquire::Granted(row.grant(&keys.name, term, claim.ttl)), epoch }))
}

fn granted(look: &Look, grant: Grant) -> Answer {
    let epoch = look.birth.as_ref().map(|birth| look.epoch(birth));
    Answer { acquire: Acquire::Granted(grant), epoch }
}

/// The key of the holder, on its lease.
pub(crate) fn put_held(keys: &Keys, json: &[u8], lease: Granted) -> TxnOp {
    TxnOp::put(keys.held.as_str(), json, Some(PutOptions::new().with_lease(lease.lease)))
}

/// A claim repeated after its answer was lost: the same process, the same attempt.
fn is_same_claim(held: &Held, claim: &Claim) -> bool {
    held.row.incarnation == claim.node.incarnation && held.row.claim == claim.id
}

/// Whether the claim proves that the present holder is gone. This store has no presence to prove it by; a row that
/// announces one was written by a store around this one.
fn proves_gone(held: &Held, claim: &Claim) -> bool {
    match (&claim.evidence, &held.row.presence) {
        (Some(evidence), Some(presence)) => {
            evidence.term == held.term && evidence.session == presence.session
        }
        _ => false,
    }
}

/// Ends a grant whose holder is proven to be gone; does nothing if the row has changed since.
async fn depose(call: &mut Call, keys: &Keys, held: &Held) -> Result<(), StoreError> {
    let delete = TxnOp::delete(keys.held.as_str(), None);
    let txn = Txn::new().when(held.stands(keys)).and_then([delete]);
    if call.txn("deposing a holder that is gone", txn).await?.succeeded() {
        call.tidy_up(held.lease).await;
    }
    Ok(())
}

/// The holder as others see it.
async fn holder(call: &mut Call, held: &Held) -> Result<Holder, StoreError> {
    let seconds = call.seconds_left(held.lease).await?;
    let by_row = wall_clock().until(held.row.renewed_at.after(held.row.ttl()));
    Ok(Holder {
        node: held.row.node(),
        term: held.term,
        expires_in: left(seconds, by_row),
        presence: held.row.presence.clone(),
    })
}

/// How long a grant lasts: etcd says the second, and the times in the row say which part of it, for what they are worth.
fn left(seconds: i64, by_row: Duration) -> Duration {
    let floor = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let ceiling = if seconds < 0 { floor } else { floor + Duration::from_secs(1) };
    by_row.clamp(floor, ceiling).max(OVERDUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_shift_what_is_left_by_less_than_a_second() {
        let (day, ms) = (Duration::from_secs(86_400), Duration::from_millis);
        assert_eq!(left(4, ms(4300)), ms(4300));
        assert_eq!(left(4, day), ms(5000));
        assert_eq!(left(4, Duration::ZERO), ms(4000));
        assert_eq!((left(0, Duration::ZERO), left(-1, day)), (OVERDUE, OVERDUE));
    }
}
