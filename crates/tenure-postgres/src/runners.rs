//! What the runners of all processes say of themselves.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::RunnerStore;
use tenure_core::id::Node;
use tenure_core::observe::{RunnerReport, Runners};
use tenure_sql::not_built;

use crate::store::PostgresStore;

#[async_trait]
impl RunnerStore for PostgresStore {
    async fn report(&self, _: &Node, _: &[RunnerReport]) -> Result<(), StoreError> {
        Err(not_built(&self.shared.label))
    }

    async fn runners(&self, _: Duration, _: u32) -> Result<Runners, StoreError> {
        Err(not_built(&self.shared.label))
    }

    async fn forget(&self, _: Duration) -> Result<u64, StoreError> {
        Err(not_built(&self.shared.label))
    }
}
