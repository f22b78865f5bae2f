//! What is told of a lease by what stands on its topic.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Grant, Holder, LeaseName, LeaseRecord, Loss, Term};
use tenure_core::time::{Monotonic, StoreTime};

use super::record::What;
use super::tail::{Seen, View};

/// Those who wait look again no sooner than this, whatever the topic says.
const LOOK_MIN: Duration = Duration::from_millis(250);

/// A holder that does not renew leaves by itself when its ttl ends. So long it may take.
const LEAVING: Duration = Duration::from_secs(1);

/// Whether the topic says that someone holds the lease, be it one who has died since. In the moment after a ttl's end it says
/// nothing: the holder is about to leave.
pub(crate) fn is_held(view: &View, lease: &LeaseName, now: Monotonic) -> bool {
    view.leases.get(lease).is_some_and(|seen| {
        let end = seen.read.after(seen.sign.ttl());
        seen.sign.what.is_held() && (now < end || now >= end.after(LEAVING))
    })
}

/// The holder, for one who has not been given the partition.
pub(crate) fn holder(view: &View, lease: &LeaseName, now: Monotonic) -> Result<Holder, StoreError> {
    match view.leases.get(lease) {
        Some(seen) => {
            let left = now.until(seen.read.after(seen.sign.ttl()));
            Ok(Holder {
                node: seen.sign.node(),
                term: seen.term,
                expires_in: if seen.sign.what.is_held() { left.max(LOOK_MIN) } else { LOOK_MIN },
                presence: None,
            })
        }
        // Some member has the partition and has not written its claim yet.
        None => Ok(Holder { node: nobody()?, term: Term::FIRST, expires_in: LOOK_MIN, presence: None }),
    }
}

/// Stands for a holder that is not known: the group has given the partition to nobody, or to one who has not claimed yet.
fn nobody() -> Result<Node, StoreError> {
    let name = NodeName::new("not known yet").map_err(|error| StoreError::Failed {
        store: "kafka".into(),
        message: error.to_string(),
        source: None,
    })?;
    Ok(Node { name, incarnation: Unique::from_u128(0), machine: String::new(), pid: 0 })
}

/// The lease's last word as a row.
pub(crate) fn record(lease: &LeaseName, seen: &Seen) -> LeaseRecord {
    let sign = &seen.sign;
    let acquired_at = sign.acquired_at.map_or(seen.at, StoreTime::from_micros);
    let renewed_at = if sign.what.is_held() {
        seen.at
    } else {
        sign.renewed_at.map_or(acquired_at, StoreTime::from_micros)
    };
    LeaseRecord {
        name: lease.clone(),
        term: seen.term,
        node: sign.node(),
        claim: sign.claim,
        renewals: sign.renewals,
        kind: sign.kind.clone(),
        backend: "kafka".into(),
        acquired_at,
        renewed_at,
        expires_at: renewed_at.after(sign.ttl()),
        released_at: (!sign.what.is_held()).then_some(seen.at),
        revoked_at: None,
        presence: None,
        origin: None,
    }
}

/// Why a grant that no member of ours holds is over.
pub(crate) fn loss(view: &View, grant: &Grant) -> Loss {
    let Some(seen) = view.leases.get(&grant.name) else { return Loss::Unknown };
    let other = seen.term != grant.term || seen.sign.incarnation != grant.node.incarnation;
    match seen.sign.what {
        _ if other => Loss::Taken { term: seen.term, by: seen.sign.node.clone() },
        What::Released => Loss::Released,
        What::Claim | What::Renewed | What::Expired | What::Void => Loss::Expired,
    }
}
