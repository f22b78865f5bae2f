//! The cluster part of the conformance suite on a file.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::{Backend, ClusterBackend, Need};
use tenure_core::cluster::DaemonName;
use tenure_core::contract::{ClusterStore, LeaseAdmin, LeaseStore, Schema as _};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, FenceCheck, FenceError, LeaseName};
use tenure_core::naming::{Identifier, Naming};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::SqliteFile;

/// One cluster in a file, which may have others beside it.
struct ClusterInFile {
    file: Arc<SqliteFile>,
    prefix: &'static str,
}

impl ClusterInFile {
    async fn start(file: Arc<SqliteFile>, prefix: &'static str) -> Self {
        let cluster = Self { file, prefix };
        cluster.connect().await.migrate().await.unwrap();
        cluster
    }

    async fn connect(&self) -> SqliteStore {
        let prefix = Identifier::new("prefix", self.prefix).unwrap();
        let naming = Naming { prefix, ..Naming::default() };
        SqliteStore::connect(SqliteOptions { naming, ..SqliteOptions::new(self.file.path()) }).await.unwrap()
    }

    /// Deletes the row in which this column is this.
    fn delete(&self, table: &str, column: &str, name: &str) -> bool {
        let sql = format!("delete from {}{table} where {column} = ?1", self.prefix);
        self.file.raw().execute(&sql, [name]).unwrap() == 1
    }
}

#[async_trait]
impl Backend for ClusterInFile {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.connect().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.connect().await))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let fencing = self.connect().await.fencing();
        let mut connection = self.file.raw();
        let transaction = connection.transaction().unwrap();
        match fencing.check(&transaction, fence) {
            Ok(()) => Some(FenceCheck::Holds),
            Err(FenceError::Fenced(fenced)) => Some(FenceCheck::Refused(fenced)),
            Err(error) => panic!("{error}"),
        }
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.delete("leases", "name", name.as_str())
    }

    fn promises(&self) -> &'static [Need] {
        &[Need::Admin, Need::Fence, Need::DeleteRow, Need::Wakeup, Need::Audit, Need::Neighbour]
    }
}

#[async_trait]
impl ClusterBackend for ClusterInFile {
    async fn cluster(&self) -> Arc<dyn ClusterStore> {
        Arc::new(self.connect().await)
    }

    async fn delete_node(&self, node: &NodeName) {
        assert!(self.delete("nodes", "name", node.as_str()));
    }

    async fn delete_daemon(&self, daemon: &DaemonName) {
        assert!(self.delete("assignments", "daemon", daemon.as_str()));
    }

    async fn daemon_audit(&self) -> Option<Vec<(String, String, String)>> {
        let connection = self.file.raw();
        let audit = format!("{}audit", self.prefix);
        let sql =
            format!("select actor, action, subject from {audit} where action like 'daemon %' order by id");
        let mut statement = connection.prepare(&sql).unwrap();
        let lines = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        Some(lines.unwrap().collect::<Result<_, _>>().unwrap())
    }

    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        Some(Box::new(Self::start(Arc::clone(&self.file), "other_").await))
    }

    // No `hold_fence`: whoever would end a generation waits until the one writer of a file has ended.
}

tenure_conformance::cluster_suite!(async {
    ClusterInFile::start(Arc::new(SqliteFile::nothing_yet()), "tenure_").await
});
