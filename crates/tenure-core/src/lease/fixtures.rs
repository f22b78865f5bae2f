//! Small values that the tests of this module share.

use std::time::Duration;

use super::{Claim, Grant, LeaseName, Term};
use crate::id::{Node, NodeName, Unique};
use crate::time::{Monotonic, StoreTime};

pub(super) fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A reading of a node's clock, in milliseconds.
pub(super) fn at(number: u64) -> Monotonic {
    Monotonic::from_origin(millis(number))
}

/// A moment of the store's clock, in milliseconds.
pub(super) fn store_at(number: u64) -> StoreTime {
    StoreTime::from_micros(0).after(millis(number))
}

pub(super) fn unique(number: u128) -> Unique {
    Unique::from_u128(number)
}

pub(super) fn term(number: u64) -> Term {
    Term::new(number).unwrap()
}

pub(super) fn lease() -> LeaseName {
    LeaseName::new("nightly").unwrap()
}

pub(super) fn node(incarnation: u128) -> Node {
    Node {
        name: NodeName::new(format!("n{incarnation}")).unwrap(),
        incarnation: unique(incarnation),
        machine: "machine".into(),
        pid: 1,
    }
}

/// A claim of node `incarnation` for six seconds.
pub(super) fn claim(incarnation: u128, id: u128) -> Claim {
    Claim {
        name: lease(),
        node: node(incarnation),
        id: unique(id),
        ttl: millis(6000),
        kind: None,
        evidence: None,
    }
}

/// A grant of the first node.
pub(super) fn grant(number: u64, ttl: Duration) -> Grant {
    Grant {
        name: lease(),
        term: term(number),
        node: node(1),
        claim: unique(1),
        ttl,
        acquired_at: store_at(0),
    }
}
