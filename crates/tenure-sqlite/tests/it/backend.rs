//! The conformance suite on a file, and the small things every test here needs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use tenure_conformance::{Backend, Need};
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, Schema};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Fence, FenceCheck, FenceError, Grant, LeaseName};
use tenure_sqlite::{SqliteOptions, SqliteStore};

/// A database of its own, gone with the test.
pub(crate) struct SqliteFile {
    directory: TempDir,
}

impl SqliteFile {
    /// A path at which there is nothing yet.
    pub(crate) fn nothing_yet() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A database with the schema in it.
    pub(crate) async fn start() -> Self {
        let file = Self::nothing_yet();
        file.connect().await.migrate().await.unwrap();
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("app.db")
    }

    pub(crate) fn flags(&self) -> PathBuf {
        self.directory.path().join("app.db-tenure")
    }

    pub(crate) async fn connect(&self) -> SqliteStore {
        SqliteStore::connect(SqliteOptions::new(self.path())).await.unwrap()
    }

    /// The database as its user's own code has it.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection
    }
}

#[async_trait]
impl Backend for SqliteFile {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.connect().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.connect().await))
    }

    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        Some(Arc::new(self.connect().await))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let fencing = self.connect().await.fencing();
        let mut connection = self.raw();
        let transaction = connection.transaction().unwrap();
        match fencing.check(&transaction, fence) {
            Ok(()) => Some(FenceCheck::Holds),
            Err(FenceError::Fenced(fenced)) => Some(FenceCheck::Refused(fenced)),
            Err(error) => panic!("{error}"),
        }
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.raw().execute("delete from tenure_leases where name = ?1", [name.as_str()]).unwrap() == 1
    }

    async fn regress_term(&self, name: &LeaseName) -> bool {
        let back = "update tenure_leases set term = term - 1 where name = ?1";
        self.raw().execute(back, [name.as_str()]).unwrap() == 1
    }

    // No `kill_sessions`: there is no server that could end a session. What becomes of a file that someone removes is
    // told in `presence.rs`.

    fn promises(&self) -> &'static [Need] {
        use Need::{Admin, DeleteRow, Fence, Forgetting, Presence, Registry, RegressTerm, Wakeup};
        &[Presence, Admin, Registry, Fence, DeleteRow, RegressTerm, Wakeup, Forgetting]
    }
}

pub(crate) fn unique() -> Unique {
    Unique::from_u128(fastrand::u128(..))
}

pub(crate) fn lease(name: &str) -> LeaseName {
    LeaseName::new(name).unwrap()
}

pub(crate) fn claim(name: &str, node: &str, ttl: Duration) -> Claim {
    Claim {
        name: lease(name),
        node: Node {
            name: NodeName::new(node).unwrap(),
            incarnation: unique(),
            machine: "test".into(),
            pid: std::process::id(),
        },
        id: unique(),
        ttl,
        kind: None,
        evidence: None,
    }
}

/// Takes a lease that must be free.
pub(crate) async fn take(store: &SqliteStore, name: &str, ttl: Duration) -> Grant {
    match store.try_acquire(&claim(name, "node", ttl)).await.unwrap() {
        Acquire::Granted(grant) => grant,
        Acquire::Held(holder) => panic!("held by {}", holder.node),
    }
}
