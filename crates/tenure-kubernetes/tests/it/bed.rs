//! What the tests stand on: a server of their own, nodes on it, and what nodes do.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::LeaseStore;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Grant, Holder, LeaseName, Release, Renew, Renewal};
use tenure_kubernetes::{KubernetesOptions, KubernetesStore};

use crate::api::Api;

pub const NAMESPACE: &str = "shop";
/// A ttl that does not end while a test runs.
pub const LONG: Duration = Duration::from_secs(600);

/// A server of the test's own.
#[derive(Debug)]
pub struct Bed {
    pub api: Arc<Api>,
}

impl Bed {
    pub async fn start() -> Self {
        Self { api: Arc::new(Api::start(0).await) }
    }

    pub fn options(&self) -> KubernetesOptions {
        let url = format!("kubernetes://{NAMESPACE}?server={}", self.api.url());
        KubernetesOptions::from_url(&url).expect("options")
    }

    pub async fn store(&self) -> KubernetesStore {
        KubernetesStore::connect(self.options()).await.expect("a store")
    }

    /// A node with a handle of its own, which has seen nothing yet.
    pub async fn node(&self, name: &str) -> Player {
        Player::new(self.store().await, name)
    }

    /// A node whose calls end after `timeout`.
    pub async fn hasty_node(&self, name: &str, timeout: Duration) -> Player {
        let mut options = self.options();
        options.timeout = timeout;
        Player::new(KubernetesStore::connect(options).await.expect("a store"), name)
    }

    /// A field of the spec of `name`'s object.
    pub fn spec(&self, name: &LeaseName, key: &str) -> serde_json::Value {
        self.api.object(NAMESPACE, name.as_str()).expect("an object")["spec"][key].clone()
    }
}

/// One node on the server.
#[derive(Debug, Clone)]
pub struct Player {
    pub store: KubernetesStore,
    pub node: Node,
}

impl Player {
    pub fn new(store: KubernetesStore, name: &str) -> Self {
        let node = Node {
            name: NodeName::new(name).expect("a name"),
            incarnation: unique(),
            machine: "rack".into(),
            pid: std::process::id(),
        };
        Self { store, node }
    }

    pub fn claim(&self, name: &LeaseName, ttl: Duration) -> Claim {
        Claim { name: name.clone(), node: self.node.clone(), id: unique(), ttl, kind: None, evidence: None }
    }

    pub async fn tries(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        self.store.try_acquire(claim).await
    }

    pub async fn takes(&self, name: &LeaseName, ttl: Duration) -> Grant {
        granted(self.tries(&self.claim(name, ttl)).await.expect("an answer"))
    }

    pub async fn finds_held(&self, name: &LeaseName) -> Holder {
        match self.tries(&self.claim(name, LONG)).await.expect("an answer") {
            Acquire::Held(holder) => holder,
            Acquire::Granted(grant) => panic!("{name} is held, and yet was granted: {grant:?}"),
        }
    }

    pub async fn renews(&self, grant: &Grant, number: u64) -> Renew {
        self.tries_to_renew(grant, number).await.expect("an answer")
    }

    pub async fn tries_to_renew(&self, grant: &Grant, number: u64) -> Result<Renew, StoreError> {
        self.store.renew(grant, &Renewal { number, presence: None }).await
    }

    pub async fn releases(&self, grant: &Grant) -> Release {
        self.store.release(grant).await.expect("an answer")
    }
}

pub fn granted(answer: Acquire) -> Grant {
    match answer {
        Acquire::Granted(grant) => grant,
        Acquire::Held(holder) => panic!("the lease is free, and yet is said to be held: {holder:?}"),
    }
}

pub fn unique() -> Unique {
    Unique::from_u128(fastrand::u128(..))
}

pub fn lease(text: &str) -> LeaseName {
    LeaseName::new(text).expect("a name")
}

/// Lets time pass that is a part of what is tested.
pub async fn pass(span: Duration) {
    // passes time: leases end by it, and a steady clock cannot be set.
    tokio::time::sleep(span).await;
}
