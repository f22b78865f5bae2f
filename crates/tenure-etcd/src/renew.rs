//! Renewals: one keep-alive, and a transaction which proves that it was for the grant.
//!
//! A keep-alive alone proves little: it names an etcd lease and not a key, and etcd answers it without a quorum. The
//! transaction goes through the quorum, and finds the key with its create revision, on its lease, unchanged since it was
//! read. It comes after the keep-alive, so that `Extended` is said only when both have happened, in this order.
//!
//! When etcd's leader changes, all its leases begin their ttl anew. That only lengthens what others wait: the holder
//! counts its trust from the start of its last renewal that was answered, whatever etcd grants on top.

use etcd_client::{Txn, TxnOp};
use tenure_core::StoreError;
use tenure_core::lease::{Grant, Renew, Renewal};

use crate::acquire::put_held;
use crate::call::{Call, Granted, OnLease};
use crate::keys::Keys;
use crate::look::{Held, Look};
use crate::row::Row;

/// How often a renewal may find that the row has changed since it looked.
const TRIES: u32 = 4;

/// Whether a grant was kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    /// It has changed since it was read, or has ended; nothing was written.
    Changed,
}

/// Extends exactly this grant.
pub(crate) async fn renew(
    call: &mut Call,
    keys: &Keys,
    grant: &Grant,
    renewal: &Renewal,
) -> Result<Renew, StoreError> {
    for _ in 0..TRIES {
        let look = Look::take(call, keys).await?;
        let Some(held) = look.held_by(grant) else { return Ok(Renew::Lost(look.loss(grant))) };
        if renewal.number <= held.row.renewals {
            return Err(call.failed("a later renewal of this grant was there first"));
        }
        let renewed = held.row.renewed(held.term, renewal);
        if keep(call, keys, held, renewed).await? == Kept::Yes {
            return Ok(Renew::Extended);
        }
    }
    Err(call.busy("the lease's row changed at every try to renew it"))
}

/// Has the ttl of a grant begin anew, and writes its row.
pub(crate) async fn keep(call: &mut Call, keys: &Keys, held: &Held, row: Row) -> Result<Kept, StoreError> {
    if let OnLease::Gone = call.keep_alive(held.lease).await? {
        return Ok(Kept::Changed);
    }
    let json = row.to_json(call.label())?;
    let lease = Granted { lease: held.lease, seconds: row.ttl_seconds };
    let puts = [put_held(keys, &json, lease), TxnOp::put(keys.last.as_str(), json, None)];
    let txn = Txn::new().when(held.stands(keys)).and_then(puts);
    match call.txn_on_lease("renewing the lease", txn).await? {
        OnLease::Done(answer) if answer.succeeded() => Ok(Kept::Yes),
        OnLease::Done(_) | OnLease::Gone => Ok(Kept::Changed),
    }
}
