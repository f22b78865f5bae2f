//! A node as the suite plays it. Cases read as what nodes do: `ann.takes(…)`, `bob.finds_held(…)`.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::LeaseStore;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{
    Acquire, Announced, Claim, Evidence, Grant, Holder, LeaseName, LeaseRecord, Release, Renew, Renewal,
};

use crate::backend::Backend;

/// A ttl that does not end while a case runs, however loaded the machine is.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// How much longer than a ttl the suite waits for its end.
const SLACK: Duration = Duration::from_millis(150);

/// A number that nothing else has.
pub(crate) fn unique() -> Unique {
    Unique::from_u128(fastrand::u128(..))
}

/// The name of a lease that no other case and no other run uses.
pub(crate) fn fresh(what: &str) -> LeaseName {
    named(&format!("{what}-{}", unique()))
}

/// The lease of this name.
pub(crate) fn named(text: &str) -> LeaseName {
    LeaseName::new(text).unwrap_or_else(|error| panic!("{text:?} must be a name: {error}"))
}

/// A process of this name, with an incarnation of its own.
pub(crate) fn node(name: &str) -> Node {
    Node {
        name: NodeName::new(name).expect("a name for a node"),
        incarnation: unique(),
        machine: "conformance".to_owned(),
        pid: std::process::id(),
    }
}

/// Lets a grant of [`Backend::short_ttl`] expire.
///
/// The one who wants it next looks first: a store without a clock of its own counts from what each node has seen.
pub(crate) async fn outlive(backend: &dyn Backend, next: &Player, name: &LeaseName) {
    next.row(name).await;
    backend.pass(backend.short_ttl() + SLACK).await;
}

/// A renewal that says nothing of presence.
pub(crate) fn renewal(number: u64) -> Renewal {
    Renewal { number, presence: None }
}

/// A renewal that announces a presence.
pub(crate) fn announcing(number: u64, session: Unique) -> Renewal {
    Renewal { number, presence: Some(Announced { session, trust: Duration::from_millis(700) }) }
}

/// One node: an identity, and a handle on the store of its own.
#[derive(Debug, Clone)]
pub(crate) struct Player {
    pub(crate) store: Arc<dyn LeaseStore>,
    pub(crate) node: Node,
}

impl Player {
    pub(crate) async fn enter(backend: &dyn Backend, name: &str) -> Self {
        Self { store: backend.store().await, node: node(name) }
    }

    pub(crate) fn claim(&self, name: &LeaseName, ttl: Duration) -> Claim {
        Claim { name: name.clone(), node: self.node.clone(), id: unique(), ttl, kind: None, evidence: None }
    }

    pub(crate) async fn tries(&self, claim: &Claim) -> Acquire {
        let answer = self.store.try_acquire(claim).await;
        answer.unwrap_or_else(|error| {
            panic!("{} got no answer to its claim on {}: {error}", self.node, claim.name)
        })
    }

    /// Gets the lease by this very claim.
    pub(crate) async fn takes_by(&self, claim: &Claim) -> Grant {
        match self.tries(claim).await {
            Acquire::Granted(grant) => grant,
            Acquire::Held(holder) => panic!("{} must get {}, but is told {holder:?}", self.node, claim.name),
        }
    }

    /// Gets the lease by a new claim.
    pub(crate) async fn takes(&self, name: &LeaseName, ttl: Duration) -> Grant {
        self.takes_by(&self.claim(name, ttl)).await
    }

    /// Gets the lease with evidence that its holder is gone.
    pub(crate) async fn deposes(&self, name: &LeaseName, evidence: Evidence) -> Grant {
        self.takes_by(&Claim { evidence: Some(evidence), ..self.claim(name, LONG) }).await
    }

    /// Finds the lease held, by this very claim.
    pub(crate) async fn finds_held_by(&self, claim: &Claim) -> Holder {
        match self.tries(claim).await {
            Acquire::Held(holder) => holder,
            Acquire::Granted(grant) => {
                panic!("{} must not get {}, but is given {grant:?}", self.node, claim.name)
            }
        }
    }

    /// Finds the lease held, by a new claim.
    pub(crate) async fn finds_held(&self, name: &LeaseName) -> Holder {
        self.finds_held_by(&self.claim(name, LONG)).await
    }

    pub(crate) async fn renews(&self, grant: &Grant, renewal: &Renewal) -> Renew {
        let answer = self.store.renew(grant, renewal).await;
        answer.unwrap_or_else(|error| panic!("{} got no answer to renewal {renewal:?}: {error}", self.node))
    }

    pub(crate) async fn releases(&self, grant: &Grant) -> Release {
        let answer = self.store.release(grant).await;
        answer.unwrap_or_else(|error| {
            panic!("{} got no answer to the release of {}: {error}", self.node, grant.name)
        })
    }

    /// The row, if there is one.
    pub(crate) async fn looks(&self, name: &LeaseName) -> Option<LeaseRecord> {
        let answer = self.store.observe(name).await;
        answer.unwrap_or_else(|error| panic!("{} cannot observe {name}: {error}", self.node))
    }

    /// The row, which must be there.
    pub(crate) async fn row(&self, name: &LeaseName) -> LeaseRecord {
        self.looks(name).await.unwrap_or_else(|| panic!("{name} must have a row"))
    }
}
