//! What the cluster part of the suite needs of a backend under test.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::cluster::DaemonName;
use tenure_core::contract::ClusterStore;
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;

use crate::backend::Backend;

/// A backend with a cluster, whose leases are in the same store. Each value has tables of its own, without a row in them.
/// It has an [operator's view](Backend::admin), and [checks fences](Backend::check_fence).
#[async_trait]
pub trait ClusterBackend: Backend {
    /// A handle on the cluster as another node would have it.
    async fn cluster(&self) -> Arc<dyn ClusterStore>;

    /// Deletes a node's row behind the store's back; its lease stays.
    async fn delete_node(&self, node: &NodeName);

    /// Deletes a daemon's row behind the store's back; its lease stays.
    async fn delete_daemon(&self, daemon: &DaemonName);

    /// The audit table's rows about daemons, the first one first: who, what, which. `None` where the suite cannot see them.
    async fn daemon_audit(&self) -> Option<Vec<(String, String, String)>> {
        None
    }

    /// Another cluster in the same place, such as tables with another prefix in one database.
    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        None
    }

    /// A transaction of a user's own that has checked this fence and is open; `None` where nobody else can write meanwhile,
    /// or nothing is held over several calls.
    async fn hold_fence(&self, fence: &Fence) -> Option<Box<dyn HeldFence>> {
        let _ = fence;
        None
    }
}

/// An open transaction that has checked a fence.
#[async_trait]
pub trait HeldFence: Send {
    /// Commits it.
    async fn commit(self: Box<Self>);
}
