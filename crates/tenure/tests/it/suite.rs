//! Locks over leases, held to the conformance suite on SQLite: the lock that the first seed page left out there.

use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use tenure::core::contract::{LeaseStore, SessionLocks};
use tenure::{Database, LeaseLocks, LeaseSettings, Leases, OpenOptions, local_node};
use tenure_conformance::{Backend, lease::CASES};

struct SqliteLocks {
    directory: TempDir,
}

impl SqliteLocks {
    async fn start() -> Self {
        let backend = Self { directory: tempfile::tempdir().unwrap() };
        backend.open().await.schema().migrate().await.unwrap();
        backend
    }

    async fn open(&self) -> Database {
        let url = format!("sqlite:{}", self.directory.path().join("locks.db").display());
        tenure::open(&url, OpenOptions::default()).await.unwrap()
    }
}

#[async_trait]
impl Backend for SqliteLocks {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        self.open().await.leases()
    }

    async fn locks(&self) -> Option<Arc<dyn SessionLocks>> {
        let leases = Leases::new(self.store().await, local_node(None).unwrap());
        Some(Arc::new(LeaseLocks::new(leases, LeaseSettings::default())))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a1_locks_on_sqlite_pass_the_suite() {
    let cases: Vec<_> = CASES.iter().filter(|case| case.theme == "locks").collect();
    assert!(cases.len() >= 8, "the suite has cases for locks");
    for case in cases {
        let backend = SqliteLocks::start().await;
        (case.run)(&backend).await;
    }
}
