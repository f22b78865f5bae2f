//! Renewals: a keep-alive, and a transaction which proves that it was for the grant.
//!
//! A keep-alive alone proves little: it names an etcd lease and not a key, and etcd answers it without a quorum. A member
//! that was the leader and does not know yet that it is none any more answers it too, while the lease runs out elsewhere.
//! So a transaction follows, which goes through the quorum. It finds the key with its create revision, on its lease,
//! unchanged since it was read; and if it was answered in the same term of etcd's leader, the keep-alive was answered by
//! the one leader that there was. `Extended` is said only then.
//!
//! When etcd's leader changes, all its leases begin their ttl anew. That only lengthens what others wait: the holder
//! counts its trust from the start of its last renewal that was answered, whatever etcd grants on top.

use etcd_client::{Txn, TxnOp};
use tenure_core::StoreError;
use tenure_core::lease::{Grant, Renew, Renewal};

use crate::acquire::put_held;
use crate::call::{Call, Granted, OnLease, RaftTerm};
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
    let OnLease::Done(kept_in) = call.keep_alive(held.lease).await? else { return Ok(Kept::Changed) };
    let json = row.to_json(call.label())?;
    let lease = Granted { lease: held.lease, seconds: row.ttl_seconds };
    let puts = [put_held(keys, &json, lease), TxnOp::put(keys.last.as_str(), json, None)];
    let txn = Txn::new().when(held.stands(keys)).and_then(puts);
    match call.txn_on_lease("renewing the lease", txn).await? {
        OnLease::Done(answer) if answer.succeeded() => {
            if RaftTerm::of(answer.header()).is_also(kept_in) {
                Ok(Kept::Yes)
            } else {
                Err(call.busy("etcd changed its leader while the lease was renewed; renew it again"))
            }
        }
        OnLease::Done(_) | OnLease::Gone => Ok(Kept::Changed),
    }
}
