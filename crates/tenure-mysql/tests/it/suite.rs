//! The conformance suite about leases, on each server.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Connection as _;
use tenure_conformance::{Backend, Need};
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, SessionLocks};
use tenure_core::lease::{Fence, FenceCheck, FenceError, LeaseName};

use crate::bed::{Bed, NOT_FRESH};
use crate::sandbox::Server;

struct MySqlBackend {
    bed: Bed,
}

async fn backend(server: Server) -> Option<MySqlBackend> {
    Some(MySqlBackend { bed: Bed::new(server).await? })
}

mod mariadb {
    use super::{Server, backend};
    tenure_conformance::lease_suite!(backend(Server::MariaDb));
}

mod mysql {
    use super::{Server, backend};
    tenure_conformance::lease_suite!(backend(Server::MySql));
}

#[async_trait]
impl Backend for MySqlBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.bed.sql().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.bed.sql().await))
    }

    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        Some(Arc::new(self.bed.sql().await))
    }

    async fn locks(&self) -> Option<Arc<dyn SessionLocks>> {
        Some(Arc::new(self.bed.store().await.session_locks().await.expect("locks")))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let fencing = self.bed.store().await.fencing();
        let mut user = self.bed.sandbox.user().await;
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
        let sql = format!("DELETE FROM {} WHERE name = ?", self.bed.sandbox.table("leases"));
        self.bed.sandbox.execute(sql, name.as_str()).await == 1
    }

    async fn regress_term(&self, name: &LeaseName) -> bool {
        let sql = format!("UPDATE {} SET term = term - 1 WHERE name = ?", self.bed.sandbox.table("leases"));
        self.bed.sandbox.execute(sql, name.as_str()).await == 1
    }

    /// Those that are idle: whoever watches goes on watching.
    async fn kill_sessions(&self) -> bool {
        assert!(self.bed.kill("Sleep").await > 0);
        // passes time: connections of pools are asked whether they live before they are used again
        tokio::time::sleep(NOT_FRESH).await;
        true
    }

    fn promises(&self) -> &'static [Need] {
        &[
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
        ]
    }
}
