//! The conformance suite, once for each way to reach the server.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::{Backend, Need};
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, SessionLocks};
use tenure_core::lease::{Fence, FenceCheck, FenceError, LeaseName};

use crate::sandbox::{Mode, Sandbox};

struct PostgresBackend {
    sandbox: Sandbox,
    mode: Mode,
}

async fn backend(mode: Mode) -> Option<PostgresBackend> {
    Some(PostgresBackend { sandbox: Sandbox::new(mode).await?, mode })
}

mod direct {
    use super::{Mode, backend};
    tenure_conformance::lease_suite!(backend(Mode::Direct));
}

mod pooled {
    use super::{Mode, backend};
    tenure_conformance::lease_suite!(backend(Mode::Pooled));
}

#[async_trait]
impl Backend for PostgresBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.store().await))
    }

    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        Some(Arc::new(self.sandbox.store().await))
    }

    async fn locks(&self) -> Option<Arc<dyn SessionLocks>> {
        match self.mode {
            Mode::Direct => Some(Arc::new(self.sandbox.store().await.session_locks().await.expect("locks"))),
            Mode::Pooled => None,
        }
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
        let sql = format!("DELETE FROM {} WHERE name = $1", self.sandbox.table("leases"));
        self.sandbox.superuser().await.execute(&sql, &[&name.as_str()]).await.expect("deleted") == 1
    }

    async fn regress_term(&self, name: &LeaseName) -> bool {
        let sql = format!("UPDATE {} SET term = term - 1 WHERE name = $1", self.sandbox.table("leases"));
        self.sandbox.superuser().await.execute(&sql, &[&name.as_str()]).await.expect("set back") == 1
    }

    async fn kill_sessions(&self) -> bool {
        if self.mode == Mode::Pooled {
            return false;
        }
        self.sandbox.terminate("presence").await;
        self.sandbox.terminate("lock").await;
        true
    }

    fn promises(&self) -> &'static [Need] {
        match self.mode {
            Mode::Direct => &[
                Need::Presence,
                Need::Silence,
                Need::Admin,
                Need::Registry,
                Need::Locks,
                Need::Fence,
                Need::DeleteRow,
                Need::RegressTerm,
                Need::KillSessions,
                Need::Forgetting,
            ],
            Mode::Pooled => &[
                Need::Admin,
                Need::Registry,
                Need::Fence,
                Need::DeleteRow,
                Need::RegressTerm,
                Need::Forgetting,
            ],
        }
    }
}
