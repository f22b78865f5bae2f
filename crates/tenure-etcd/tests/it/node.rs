//! A node as tests play it.

use std::time::Duration;

use tenure_core::contract::LeaseStore;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, Renewal};

/// A ttl that does not end while a test runs.
pub(crate) const LONG: Duration = Duration::from_secs(600);

pub(crate) fn unique() -> Unique {
    Unique::from_u128(fastrand::u128(..))
}

pub(crate) fn named(name: &str) -> LeaseName {
    LeaseName::new(name).unwrap()
}

pub(crate) fn claim(node: &str, name: &str, ttl: Duration) -> Claim {
    let node = Node {
        name: NodeName::new(node).unwrap(),
        incarnation: unique(),
        machine: "test".into(),
        pid: std::process::id(),
    };
    Claim { name: named(name), node, id: unique(), ttl, kind: None, evidence: None }
}

pub(crate) fn renewal(number: u64) -> Renewal {
    Renewal { number, presence: None }
}

pub(crate) async fn takes(store: &dyn LeaseStore, claim: &Claim) -> Grant {
    match store.try_acquire(claim).await.expect("an answer to a claim") {
        Acquire::Granted(grant) => grant,
        Acquire::Held(holder) => panic!("{} must get it, but is told {holder:?}", claim.node),
    }
}

pub(crate) async fn is_held(store: &dyn LeaseStore, name: &str) -> bool {
    let answer = store.try_acquire(&claim("asker", name, LONG)).await.expect("an answer to a claim");
    matches!(answer, Acquire::Held(_))
}

/// Takes the lease as soon as it is free.
pub(crate) async fn takes_in_the_end(store: &dyn LeaseStore, claim: &Claim) -> Grant {
    let began = std::time::Instant::now();
    loop {
        match store.try_acquire(claim).await {
            Ok(Acquire::Granted(grant)) => return grant,
            other => assert!(began.elapsed() < Duration::from_secs(30), "{other:?}"),
        }
        // passes time: until etcd has noticed that the former holder's time is up
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
