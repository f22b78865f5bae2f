//! Releases: of exactly one grant, named by its create revision (etcd#22082).

use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use tenure_core::StoreError;
use tenure_core::lease::{Grant, Release};

use crate::call::Call;
use crate::keys::Keys;
use crate::look::{Held, Last, Look, is_free};

/// How often a release may find that the row has changed since it looked.
const TRIES: u32 = 4;

/// Ends exactly this grant.
pub(crate) async fn release(call: &mut Call, keys: &Keys, grant: &Grant) -> Result<Release, StoreError> {
    for _ in 0..TRIES {
        let look = Look::take(call, keys).await?;
        let done = match (look.held_by(grant), &look.last) {
            (Some(held), _) => give_back(call, keys, held).await?,
            // Its ttl has ended and nobody has come since: what is left is to stamp it.
            (None, Some(last)) if look.held.is_none() && is_unstamped(last, grant) => {
                stamp(call, keys, last).await?
            }
            _ => return Ok(Release::NotHeld),
        };
        if done {
            return Ok(Release::Released);
        }
    }
    Err(call.busy("the lease's row changed at every try to release it"))
}

fn is_unstamped(last: &Last, grant: &Grant) -> bool {
    last.term == grant.term && last.row.is_of(grant) && last.row.released_at.is_none()
}

/// Deletes the key and stamps the memory of it in one transaction. False when the grant has ended otherwise.
async fn give_back(call: &mut Call, keys: &Keys, held: &Held) -> Result<bool, StoreError> {
    let json = held.row.released(held.term).to_json(call.label())?;
    let ops = [TxnOp::delete(keys.held.as_str(), None), TxnOp::put(keys.last.as_str(), json, None)];
    let txn = Txn::new().when([held.is_this_grant(keys)]).and_then(ops);
    let released = call.txn("releasing the lease", txn).await?.succeeded();
    if released {
        // The lease is free already; this only spares etcd the wait for the ttl of a lease without a key.
        call.tidy_up(held.lease).await;
    }
    Ok(released)
}

/// False when someone has taken the lease since, or the row has changed.
async fn stamp(call: &mut Call, keys: &Keys, last: &Last) -> Result<bool, StoreError> {
    let json = last.row.released(last.term).to_json(call.label())?;
    let unchanged = Compare::mod_revision(keys.last.as_str(), CompareOp::Equal, last.changed);
    let put = TxnOp::put(keys.last.as_str(), json, None);
    let txn = Txn::new().when([is_free(keys), unchanged]).and_then([put]);
    Ok(call.txn("stamping an expired grant", txn).await?.succeeded())
}
