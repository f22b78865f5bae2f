//! The conformance suite about leases.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::{Backend, Need};
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore};
use tenure_core::lease::{Fence, FenceCheck, FenceError, LeaseName};

use crate::sandbox::Sandbox;

struct SqlServerBackend {
    sandbox: Sandbox,
}

async fn backend() -> Option<SqlServerBackend> {
    tenure_conformance::servers_may_be_missing();
    Some(SqlServerBackend { sandbox: Sandbox::new().await? })
}

mod sqlserver {
    use super::backend;
    tenure_conformance::lease_suite!(backend());
}

#[async_trait]
impl Backend for SqlServerBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.sql().await))
    }

    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        Some(Arc::new(self.sandbox.sql().await))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        Some(check_fence(&self.sandbox, fence).await)
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        let sql = format!("DELETE FROM {} WHERE name = @P1", self.sandbox.table("leases"));
        self.sandbox.execute(sql, name.as_str()).await == 1
    }

    async fn regress_term(&self, name: &LeaseName) -> bool {
        let sql = format!("UPDATE {} SET term = term - 1 WHERE name = @P1", self.sandbox.table("leases"));
        self.sandbox.execute(sql, name.as_str()).await == 1
    }

    fn promises(&self) -> &'static [Need] {
        &[Need::Admin, Need::Registry, Need::Fence, Need::DeleteRow, Need::RegressTerm, Need::Forgetting]
    }
}

/// Checks a fence in a transaction of a user's own.
pub(crate) async fn check_fence(sandbox: &Sandbox, fence: &Fence) -> FenceCheck {
    let fencing = sandbox.store().await.fencing();
    let mut user = sandbox.user().await;
    user.begin_transaction().await.expect("a transaction");
    let answer = fencing.check(&mut user, fence).await;
    user.commit_transaction().await.expect("committed");
    match answer {
        Ok(()) => FenceCheck::Holds,
        Err(FenceError::Fenced(fenced)) => FenceCheck::Refused(fenced),
        Err(error) => panic!("{error}"),
    }
}
