//! The conformance suite about leases.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::{Backend, Need};
use tenure_core::contract::LeaseStore;
use tenure_core::lease::{LeaseName, Term};

use crate::sandbox::Sandbox;

/// etcd looks for ended leases every half second.
const SWEEP: Duration = Duration::from_millis(600);

#[async_trait]
impl Backend for Sandbox {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(Sandbox::store(self).await)
    }

    /// The end of a ttl is seen a little later than it comes.
    async fn pass(&self, span: Duration) {
        let late = if span >= self.short_ttl() { SWEEP } else { Duration::ZERO };
        // passes time: by etcd's clock, which cannot be moved
        tokio::time::sleep(span + late).await;
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.delete(&["held", "last"], name.as_str()).await;
        true
    }

    /// With the election timeout that etcd has by default it grants nothing shorter.
    fn short_ttl(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Terms are revisions of the whole cluster.
    fn begins_with(&self, _: Term) -> bool {
        true
    }

    fn promises(&self) -> &'static [Need] {
        &[Need::DeleteRow]
    }
}

tenure_conformance::lease_suite!(async { Sandbox::new() });
