//! Leases and their history.

use serde::Serialize;
use serde_json::Value;

use super::millis;
use super::schema::{Shape, maybe, object, text, whole, word};
use crate::lease::{Change, LeaseRecord};
use crate::time::StoreTime;

/// The words for where a lease stands.
const STATES: [&str; 4] = ["held", "revoked", "released", "expired"];

/// Where a lease stands, in a word. One that was revoked is still held until its holder has stopped, or its ttl has ended.
pub fn lease_state(record: &LeaseRecord, now: StoreTime) -> &'static str {
    match (record.released_at, record.revoked_at) {
        (Some(_), _) => "released",
        (None, _) if !record.is_held(now) => "expired",
        (None, Some(_)) => "revoked",
        (None, None) => "held",
    }
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseShape {
    /// Its name.
    pub name: String,
    /// The term of the present holder, or of the last one.
    pub term: u64,
    /// Where it stands: held, revoked, released or expired.
    pub state: &'static str,
    /// The holder, or the last one.
    pub node: String,
    /// The random number of that process.
    pub incarnation: String,
    /// The machine it runs on.
    pub machine: String,
    /// The process id there.
    pub pid: u32,
    /// What kind of work it guards.
    pub kind: Option<String>,
    /// What granted it.
    pub backend: String,
    /// What it was granted as, where this database only records it: the life of the place that granted it.
    pub origin_epoch: Option<String>,
    /// And the term there.
    pub origin_term: Option<u64>,
    /// When this term began.
    pub acquired_at: String,
    /// When it was last renewed.
    pub renewed_at: String,
    /// When it ends unless it is renewed.
    pub expires_at: String,
    /// When it was given back.
    pub released_at: Option<String>,
    /// How long it would go on without a renewal, while someone holds it.
    pub expires_in_ms: Option<u64>,
}

impl LeaseShape {
    /// A row as it stood at `now`, by the store's clock.
    pub fn of(record: &LeaseRecord, now: StoreTime) -> Self {
        let held = record.is_held(now);
        Self {
            name: record.name.to_string(),
            term: record.term.get(),
            state: lease_state(record, now),
            node: record.node.name.to_string(),
            incarnation: record.node.incarnation.to_string(),
            machine: record.node.machine.clone(),
            pid: record.node.pid,
            kind: record.kind.clone(),
            backend: record.backend.clone(),
            origin_epoch: record.origin.as_ref().and_then(|origin| origin.epoch.clone()),
            origin_term: record.origin.as_ref().map(|origin| origin.term.get()),
            acquired_at: record.acquired_at.to_string(),
            renewed_at: record.renewed_at.to_string(),
            expires_at: record.expires_at.to_string(),
            released_at: super::text(record.released_at),
            expires_in_ms: held.then(|| millis(now.until(record.expires_at))),
        }
    }
}

impl Shape for LeaseShape {
    const NAME: &'static str = "Lease";
    fn schema() -> Value {
        object(vec![
            ("name", text()),
            ("term", whole()),
            ("state", word(&STATES)),
            ("node", text()),
            ("incarnation", text()),
            ("machine", text()),
            ("pid", whole()),
            ("kind", maybe(text())),
            ("backend", text()),
            ("origin_epoch", maybe(text())),
            ("origin_term", maybe(whole())),
            ("acquired_at", text()),
            ("renewed_at", text()),
            ("expires_at", text()),
            ("released_at", maybe(text())),
            ("expires_in_ms", maybe(whole())),
        ])
    }
}

/// A lease as a status tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseLine {
    /// When this term began.
    pub acquired_at: String,
    /// What kind of work it guards.
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
    /// The holder, or the last one.
    pub node: String,
    /// Where it stands.
    pub state: &'static str,
    /// The term of the present holder, or of the last one.
    pub term: u64,
}

impl LeaseLine {
    /// A row as it stood at `now`, by the store's clock.
    pub fn of(record: &LeaseRecord, now: StoreTime) -> Self {
        Self {
            acquired_at: record.acquired_at.to_string(),
            kind: record.kind.clone(),
            name: record.name.to_string(),
            node: record.node.name.to_string(),
            state: lease_state(record, now),
            term: record.term.get(),
        }
    }
}

impl Shape for LeaseLine {
    const NAME: &'static str = "LeaseLine";
    fn schema() -> Value {
        object(vec![
            ("acquired_at", text()),
            ("kind", maybe(text())),
            ("name", text()),
            ("node", text()),
            ("state", word(&STATES)),
            ("term", whole()),
        ])
    }
}

/// A change of holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeShape {
    /// When.
    pub at: String,
    /// Why.
    pub cause: &'static str,
    /// The random number of the process.
    pub incarnation: String,
    /// The machine it runs on.
    pub machine: String,
    /// The lease.
    pub name: String,
    /// Who held, or holds, that term.
    pub node: String,
    /// The process id.
    pub pid: u32,
    /// The term that began or ended.
    pub term: u64,
}

impl From<&Change> for ChangeShape {
    fn from(change: &Change) -> Self {
        Self {
            at: change.at.to_string(),
            cause: change.cause.as_str(),
            incarnation: change.node.incarnation.to_string(),
            machine: change.node.machine.clone(),
            name: change.name.to_string(),
            node: change.node.name.to_string(),
            pid: change.node.pid,
            term: change.term.get(),
        }
    }
}

impl Shape for ChangeShape {
    const NAME: &'static str = "LeaseChange";
    fn schema() -> Value {
        let causes = ["acquired", "released", "expired", "crashed", "fenced", "resigned"];
        object(vec![
            ("at", text()),
            ("cause", word(&causes)),
            ("incarnation", text()),
            ("machine", text()),
            ("name", text()),
            ("node", text()),
            ("pid", whole()),
            ("term", whole()),
        ])
    }
}
