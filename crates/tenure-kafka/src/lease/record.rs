//! What stands on the topic: claims, signs of life, ends; and the number that tells one topic from the next.
//!
//! Every record of a lease has the lease as its key, and tells all there is to know: the topic is compacted, and the last
//! record is enough.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Grant, LeaseName};

const LEASE: &str = "lease/";
const EPOCH: &str = "epoch/";

/// What a record's key says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The record is about this lease.
    Lease(LeaseName),
    /// The record marks the topic. Where several do, since several nodes came to an empty topic at once, the first counts.
    Epoch(String),
}

impl Key {
    pub(crate) fn of(lease: &LeaseName) -> String {
        format!("{LEASE}{lease}")
    }

    pub(crate) fn of_epoch(mark: &str) -> String {
        format!("{EPOCH}{mark}")
    }

    /// Reads a key; `None` for what no version of Tenure wrote.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        if let Some(mark) = text.strip_prefix(EPOCH) {
            return Some(Self::Epoch(mark.to_owned()));
        }
        Some(Self::Lease(LeaseName::new(text.strip_prefix(LEASE)?).ok()?))
    }
}

/// What a record tells of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// A member that was given the partition begins a term: the record's offset, counted from 1.
    Claim,
    /// The holder of the term renewed its grant.
    Renewed,
    /// The holder of the term gave it back and left the group.
    Released,
    /// The holder of the term did not renew it, and left the group.
    Expired,
    /// The claim of the term was not proven: nobody ever held it, and another may hold an earlier one.
    Void,
}

impl What {
    /// Whether the term goes on.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Self::Claim | Self::Renewed)
    }
}

/// A record of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sign {
    pub(crate) what: What,
    /// The term; a claim does not know it before it is written.
    pub(crate) term: Option<u64>,
    pub(crate) node: NodeName,
    pub(crate) incarnation: Unique,
    pub(crate) machine: String,
    pub(crate) pid: u32,
    pub(crate) claim: Unique,
    pub(crate) kind: Option<String>,
    pub(crate) ttl_ms: u64,
    /// After how long the coordinator puts this holder out.
    pub(crate) session_ms: u64,
    /// When the term began, in microseconds; a claim does not know it before it is written.
    pub(crate) acquired_at: Option<i64>,
    /// When the grant was last renewed, for the record of its end.
    pub(crate) renewed_at: Option<i64>,
    /// The number of the last renewal.
    pub(crate) renewals: u64,
}

impl Sign {
    /// What is written of this grant.
    pub(crate) fn of(grant: &Grant, what: What, kind: Option<&str>, session: Duration) -> Self {
        Self {
            what,
            term: Some(grant.term.get()),
            node: grant.node.name.clone(),
            incarnation: grant.node.incarnation,
            machine: grant.node.machine.clone(),
            pid: grant.node.pid,
            claim: grant.claim,
            kind: kind.map(str::to_owned),
            ttl_ms: millis(grant.ttl),
            session_ms: millis(session),
            acquired_at: Some(grant.acquired_at.as_micros()),
            renewed_at: None,
            renewals: 0,
        }
    }

    pub(crate) fn node(&self) -> Node {
        Node {
            name: self.node.clone(),
            incarnation: self.incarnation,
            machine: self.machine.clone(),
            pid: self.pid,
        }
    }

    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }
}

pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written() {
        let name = LeaseName::new("a/b \u{fc}").unwrap();
        assert_eq!(Key::read(Key::of(&name).as_bytes()), Some(Key::Lease(name)));
        assert_eq!(Key::read(Key::of_epoch("x").as_bytes()), Some(Key::Epoch("x".into())));
        for foreign in [&b"lease"[..], b"lease/", b"\xff", b"", b"other/x"] {
            assert_eq!(Key::read(foreign), None, "{foreign:?}");
        }
    }
}
