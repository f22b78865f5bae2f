//! The conformance suite of the cluster.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::cluster::HeldFence;
use tenure_conformance::{Backend, ClusterBackend, Need};
use tenure_core::cluster::DaemonName;
use tenure_core::contract::{ClusterStore, LeaseAdmin, LeaseStore};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, FenceCheck, LeaseName};

use crate::sandbox::{Sandbox, User};
use crate::suite::check_fence;

struct ClusterOnSqlServer {
    sandbox: Sandbox,
}

async fn backend() -> Option<ClusterOnSqlServer> {
    tenure_conformance::servers_may_be_missing();
    Some(ClusterOnSqlServer { sandbox: Sandbox::new().await? })
}

mod sqlserver {
    use super::backend;
    tenure_conformance::cluster_suite!(backend());
}

impl ClusterOnSqlServer {
    /// Deletes the row in which this column is this.
    async fn delete(&self, table: &str, column: &str, name: &str) -> bool {
        let sql = format!("DELETE FROM {} WHERE {column} = @P1", self.sandbox.table(table));
        self.sandbox.execute(sql, name).await == 1
    }
}

#[async_trait]
impl Backend for ClusterOnSqlServer {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.sql().await))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        Some(check_fence(&self.sandbox, fence).await)
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.delete("leases", "name", name.as_str()).await
    }

    fn short_ttl(&self) -> Duration {
        // Every commit is a write to the disk here: an order must fit in on a busy machine.
        Duration::from_millis(800)
    }

    fn promises(&self) -> &'static [Need] {
        &[
            Need::Admin,
            Need::Audit,
            Need::DeleteRow,
            Need::Fence,
            Need::HeldFence,
            Need::Neighbour,
            Need::Wakeup,
        ]
    }
}

#[async_trait]
impl ClusterBackend for ClusterOnSqlServer {
    async fn cluster(&self) -> Arc<dyn ClusterStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn delete_node(&self, node: &NodeName) {
        assert!(self.delete("nodes", "name", node.as_str()).await);
    }

    async fn delete_daemon(&self, daemon: &DaemonName) {
        assert!(self.delete("assignments", "daemon", daemon.as_str()).await);
    }

    async fn daemon_audit(&self) -> Option<Vec<(String, String, String)>> {
        let lines = self.sandbox.audit("daemon").await.into_iter();
        Some(lines.map(|line| (line.by, line.action, line.subject)).collect())
    }

    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        Some(Box::new(backend().await?))
    }

    async fn hold_fence(&self, fence: &Fence) -> Option<Box<dyn HeldFence>> {
        let mut user = self.sandbox.user().await;
        user.begin_transaction().await.expect("a transaction");
        self.sandbox.store().await.fencing().check(&mut user, fence).await.expect("a fence that holds");
        Some(Box::new(Open(user)))
    }
}

/// A user's connection with an open transaction.
struct Open(User);

#[async_trait]
impl HeldFence for Open {
    async fn commit(mut self: Box<Self>) {
        self.0.commit_transaction().await.expect("committed");
    }
}
