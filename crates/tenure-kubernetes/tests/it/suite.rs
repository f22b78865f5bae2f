//! The lease part of the conformance suite: on a server of our own, and on a real API where one is given.
//!
//! What these stores cannot have is left out: the number of a deleted Lease is remembered only by who has seen it, so a
//! case that wants it remembered by everyone cannot be had (`deleted` tells what holds instead).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::Backend;
use tenure_core::contract::LeaseStore;
use tenure_kubernetes::{KubernetesOptions, KubernetesStore};

use crate::api::Api;

struct Cluster {
    options: KubernetesOptions,
    _server: Option<Api>,
}

impl Cluster {
    /// The API by URL, else a server of our own.
    async fn start() -> Self {
        if let Ok(url) = std::env::var("TENURE_TEST_KUBERNETES_URL") {
            let options = KubernetesOptions::from_url(&url).expect("TENURE_TEST_KUBERNETES_URL");
            return Self { options, _server: None };
        }
        let server = Api::start(0).await;
        let url = format!("kubernetes://conformance/suite?server={}", server.url());
        Self { options: KubernetesOptions::from_url(&url).expect("options"), _server: Some(server) }
    }
}

#[async_trait]
impl Backend for Cluster {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(KubernetesStore::connect(self.options.clone()).await.expect("a store"))
    }

    /// A Lease records whole seconds.
    fn short_ttl(&self) -> Duration {
        Duration::from_secs(1)
    }
}

tenure_conformance::lease_suite!(async { Cluster::start().await });
