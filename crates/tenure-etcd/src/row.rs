//! The value of a key: what is known of one grant, as JSON that a person can read with `etcdctl get`.
//!
//! etcd has no clock to ask. The times here are those of the machine that wrote them, for people to read; nothing is
//! decided by them. Whether a grant holds is decided by its key alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tenure_core::StoreError;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Announced, Claim, Grant, LeaseName, LeaseRecord, Renewal, Term};
use tenure_core::time::StoreTime;

/// What granted a lease, in the words of a row.
pub(crate) const BACKEND: &str = "etcd";
/// A value that is longer was not written by Tenure.
const ROW_MAX_BYTES: usize = 64 * 1024;

/// What is known of one grant. Fields that a newer Tenure added are left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) node: NodeName,
    pub(crate) incarnation: Unique,
    pub(crate) machine: String,
    pub(crate) pid: u32,
    pub(crate) claim: Unique,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// The ttl that etcd granted, in seconds: not below what the holder asked for.
    pub(crate) ttl_seconds: u64,
    /// The number of this grant. Missing until the first change after the grant: the number is the revision of the
    /// transaction that wrote the row, and is not known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) term: Option<Term>,
    #[serde(default)]
    pub(crate) renewals: u64,
    /// Microseconds since 1970.
    pub(crate) acquired_at: StoreTime,
    pub(crate) renewed_at: StoreTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) released_at: Option<StoreTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) presence: Option<Announced>,
}

impl Row {
    /// What a claim writes that is granted.
    pub(crate) fn of(claim: &Claim, ttl_seconds: u64) -> Self {
        let Node { name, incarnation, machine, pid } = claim.node.clone();
        let now = wall_clock();
        Self {
            node: name,
            incarnation,
            machine,
            pid,
            claim: claim.id,
            kind: claim.kind.clone(),
            ttl_seconds,
            term: None,
            renewals: 0,
            acquired_at: now,
            renewed_at: now,
            released_at: None,
            presence: None,
        }
    }

    /// The same grant after a renewal.
    pub(crate) fn renewed(&self, term: Term, renewal: &Renewal) -> Self {
        let renewed = Self { renewals: renewal.number, presence: renewal.presence.clone(), ..self.clone() };
        renewed.touched(term)
    }

    /// The same grant, seen to live.
    pub(crate) fn touched(&self, term: Term) -> Self {
        Self { term: Some(term), renewed_at: self.now(), ..self.clone() }
    }

    /// The same grant after its release.
    pub(crate) fn released(&self, term: Term) -> Self {
        Self { term: Some(term), released_at: Some(self.now()), presence: None, ..self.clone() }
    }

    /// A clock that was set back does not make times of one row go back.
    fn now(&self) -> StoreTime {
        wall_clock().max(self.renewed_at)
    }

    /// What etcd granted.
    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_seconds)
    }

    pub(crate) fn node(&self) -> Node {
        Node {
            name: self.node.clone(),
            incarnation: self.incarnation,
            machine: self.machine.clone(),
            pid: self.pid,
        }
    }

    /// Whether this is the row of that very grant. Terms of two keyspaces may be the same; claims never are.
    pub(crate) fn is_of(&self, grant: &Grant) -> bool {
        self.incarnation == grant.node.incarnation && self.claim == grant.claim
    }

    pub(crate) fn grant(&self, name: &LeaseName, term: Term, ttl: Duration) -> Grant {
        let (node, claim, acquired_at) = (self.node(), self.claim, self.acquired_at);
        Grant { name: name.clone(), term, node, claim, ttl, acquired_at }
    }

    pub(crate) fn record(&self, name: &LeaseName, term: Term) -> LeaseRecord {
        LeaseRecord {
            name: name.clone(),
            term,
            node: self.node(),
            claim: self.claim,
            renewals: self.renewals,
            kind: self.kind.clone(),
            backend: BACKEND.to_owned(),
            acquired_at: self.acquired_at,
            renewed_at: self.renewed_at,
            expires_at: self.renewed_at.after(self.ttl()),
            released_at: self.released_at,
            revoked_at: None,
            presence: self.presence.clone(),
            origin: None,
        }
    }

    pub(crate) fn to_json(&self, store: &str) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(|error| StoreError::Failed {
            store: store.to_owned(),
            message: "what is known of a grant cannot be written as JSON".to_owned(),
            source: Some(Box::new(error)),
        })
    }

    pub(crate) fn from_json(store: &str, key: &str, value: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |what: String| StoreError::Corrupt {
            store: store.to_owned(),
            message: format!(
                "the key {key} does not hold what Tenure writes: {what}; look at it, and delete it once nobody holds \
                 this lease"
            ),
        };
        if value.len() > ROW_MAX_BYTES {
            return Err(corrupt(format!("it has {} bytes", value.len())));
        }
        serde_json::from_slice(value).map_err(|error| corrupt(error.to_string()))
    }
}

/// The time on this machine's wall clock.
pub(crate) fn wall_clock() -> StoreTime {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    StoreTime::from_micros(0).after(since_1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{"node":"a","incarnation":"00000000000000000000000000000001","machine":"m","pid":7,
        "claim":"00000000000000000000000000000002","ttl_seconds":6,"acquired_at":5,"renewed_at":5,"newer":[1]}"#;

    #[test]
    fn a_row_survives_json_and_leaves_fields_of_a_newer_version_alone() {
        let row = Row::from_json("etcd", "k", LEAST.as_bytes()).expect("a row");
        let term = Term::new(9).expect("a term");
        let renewal = Renewal { number: 3, presence: None };
        for row in [row.clone(), row.renewed(term, &renewal), row.released(term)] {
            let json = row.to_json("etcd").expect("JSON");
            assert_eq!(Row::from_json("etcd", "k", &json).expect("a row"), row);
        }
    }

    #[test]
    fn what_is_no_row_is_refused_with_its_key() {
        for value in [&b"{}"[..], b"", b"\xff", &[b' '; ROW_MAX_BYTES + 1]] {
            let error = Row::from_json("etcd", "p/held/a", value).expect_err("no row");
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
            assert!(error.to_string().contains("p/held/a"), "{error}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_set_a_row_back() {
        let row = Row::from_json("etcd", "k", LEAST.as_bytes()).expect("a row");
        let ahead = Row { renewed_at: StoreTime::from_micros(i64::MAX), ..row };
        assert_eq!(ahead.touched(Term::FIRST).renewed_at, ahead.renewed_at);
    }
}
