//! The cluster of the in-memory store as a backend under test.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::ClusterBackend;
use tenure_core::cluster::DaemonName;
use tenure_core::contract::ClusterStore;
use tenure_core::id::NodeName;

use crate::memory::MemoryBackend;

#[async_trait]
impl ClusterBackend for MemoryBackend {
    async fn cluster(&self) -> Arc<dyn ClusterStore> {
        Arc::new(self.store.clone())
    }

    async fn delete_node(&self, node: &NodeName) {
        self.store.delete_node(node);
    }

    async fn delete_daemon(&self, daemon: &DaemonName) {
        self.store.delete_daemon(daemon);
    }

    async fn daemon_audit(&self) -> Option<Vec<(String, String, String)>> {
        let lines = self.store.daemon_audit().into_iter();
        Some(lines.map(|(by, what, which)| (by, what, which.into())).collect())
    }

    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        Some(Box::new(Self::start()))
    }
}

tenure_conformance::cluster_suite!(async { MemoryBackend::start() });
