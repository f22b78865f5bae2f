//! The conformance suite of the cluster: on each server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use tenure_conformance::cluster::HeldFence;
use tenure_conformance::{Backend, ClusterBackend, Need};
use tenure_core::cluster::DaemonName;
use tenure_core::contract::{ClusterStore, LeaseAdmin, LeaseStore};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, FenceCheck, FenceError, LeaseName};

use crate::sandbox::{Sandbox, Server};

struct ClusterOnMySql {
    sandbox: Sandbox,
    server: Server,
}

async fn backend(server: Server) -> Option<ClusterOnMySql> {
    Some(ClusterOnMySql { sandbox: Sandbox::new(server).await?, server })
}

mod mariadb {
    use super::{Server, backend};
    tenure_conformance::cluster_suite!(backend(Server::MariaDb));
}

mod mysql {
    use super::{Server, backend};
    tenure_conformance::cluster_suite!(backend(Server::MySql));
}

impl ClusterOnMySql {
    /// Deletes the row in which this column is this.
    async fn delete(&self, table: &str, column: &str, name: &str) -> bool {
        let sql = format!("DELETE FROM {} WHERE {column} = ?", self.sandbox.table(table));
        self.sandbox.execute(sql, name).await == 1
    }
}

#[async_trait]
impl Backend for ClusterOnMySql {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.sql().await))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let fencing = self.sandbox.store().await.fencing();
        let mut user = self.sandbox.user().await;
        let mut transaction = user.begin().await.expect("a transaction");
        let answer = fencing.check(&mut transaction, fence).await;
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
impl ClusterBackend for ClusterOnMySql {
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
        let sql = format!(
            "SELECT actor, action, subject FROM {} WHERE action LIKE 'daemon %' ORDER BY id",
            self.sandbox.table("audit")
        );
        let rows = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut self.sandbox.user().await).await;
        Some(rows.expect("an audit"))
    }

    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        Some(Box::new(backend(self.server).await?))
    }

    async fn hold_fence(&self, fence: &Fence) -> Option<Box<dyn HeldFence>> {
        let mut user = self.sandbox.user().await;
        sqlx::raw_sql("BEGIN").execute(&mut user).await.expect("a transaction");
        self.sandbox.store().await.fencing().check(&mut user, fence).await.expect("a fence that holds");
        Some(Box::new(Open(user)))
    }
}

/// A user's connection with an open transaction.
struct Open(MySqlConnection);

#[async_trait]
impl HeldFence for Open {
    async fn commit(mut self: Box<Self>) {
        sqlx::raw_sql("COMMIT").execute(&mut self.0).await.expect("committed");
    }
}
