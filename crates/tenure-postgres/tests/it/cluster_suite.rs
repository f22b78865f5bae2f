//! The conformance suite of the cluster: once for each way to reach the server.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::cluster::HeldFence;
use tenure_conformance::{Backend, ClusterBackend, Need};
use tenure_core::cluster::DaemonName;
use tenure_core::contract::{ClusterStore, LeaseAdmin, LeaseStore};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, FenceCheck, FenceError, LeaseName};
use tokio_postgres::Client;

use crate::sandbox::{Mode, Sandbox};

struct ClusterOnPostgres {
    sandbox: Sandbox,
    mode: Mode,
}

async fn backend(mode: Mode) -> Option<ClusterOnPostgres> {
    Some(ClusterOnPostgres { sandbox: Sandbox::new(mode).await?, mode })
}

mod direct {
    use super::{Mode, backend};
    tenure_conformance::cluster_suite!(backend(Mode::Direct));
}

mod pooled_pgbouncer {
    use super::{Mode, backend};
    tenure_conformance::cluster_suite!(backend(Mode::Pooled));
}

impl ClusterOnPostgres {
    /// Deletes the row in which this column is this.
    async fn delete(&self, table: &str, column: &str, name: &str) -> bool {
        let sql = format!("DELETE FROM {} WHERE {column} = $1", self.sandbox.table(table));
        self.sandbox.superuser().await.execute(&sql, &[&name]).await.expect("deleted") == 1
    }
}

#[async_trait]
impl Backend for ClusterOnPostgres {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.store().await))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let fencing = self.sandbox.store().await.fencing();
        let mut client = self.sandbox.user().await;
        let transaction = client.transaction().await.expect("a transaction");
        let answer = fencing.check(&transaction, fence).await;
        transaction.commit().await.expect("committed");
        Some(match answer {
            Ok(()) => FenceCheck::Holds,
            Err(FenceError::Fenced(fenced)) => FenceCheck::Refused(fenced),
            Err(error) => panic!("{error}"),
        })
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.delete("leases", "name", name.as_str()).await
    }

    fn promises(&self) -> &'static [Need] {
        use Need::{Admin, Audit, DeleteRow, Fence, HeldFence, Neighbour, Wakeup};
        match self.mode {
            Mode::Direct => &[Admin, Audit, DeleteRow, Fence, HeldFence, Neighbour, Wakeup],
            Mode::Pooled => &[Admin, Audit, DeleteRow, Fence, HeldFence, Neighbour],
        }
    }
}

#[async_trait]
impl ClusterBackend for ClusterOnPostgres {
    async fn cluster(&self) -> Arc<dyn ClusterStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn delete_node(&self, node: &NodeName) {
        assert!(self.delete("nodes", "name", node.as_str()).await);
    }

    async fn delete_daemon(&self, daemon: &DaemonName) {
        assert!(self.delete("assignments", "daemon", daemon.as_str()).await);
    }

    async fn daemon_audit(&self) -> Option<Vec<(String, String, String)>> {
        let sql = format!(
            "SELECT actor, action, subject FROM {} WHERE action LIKE 'daemon %' ORDER BY id",
            self.sandbox.table("audit")
        );
        let rows = self.sandbox.superuser().await.query(&sql, &[]).await.expect("an audit");
        Some(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
    }

    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        Some(Box::new(backend(self.mode).await?))
    }

    async fn hold_fence(&self, fence: &Fence) -> Option<Box<dyn HeldFence>> {
        let client = self.sandbox.user().await;
        client.batch_execute("BEGIN").await.expect("a transaction");
        self.sandbox.store().await.fencing().check(&client, fence).await.expect("a fence that holds");
        Some(Box::new(Open(client)))
    }
}

/// A user's connection with an open transaction.
struct Open(Client);

#[async_trait]
impl HeldFence for Open {
    async fn commit(self: Box<Self>) {
        self.0.batch_execute("COMMIT").await.expect("committed");
    }
}
