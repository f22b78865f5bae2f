//! Streams by name, and events by what they share.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Stories;
use tenure_core::event::{PageRows, Position, StreamLine, StreamName};
use tenure_sql::not_built;

use crate::store::PostgresStore;

#[async_trait]
impl Stories for PostgresStore {
    async fn streams(&self, _: &str, _: Option<&StreamName>, _: u32) -> Result<Vec<StreamLine>, StoreError> {
        Err(not_built(&self.shared.label))
    }

    async fn story(&self, _: &str, _: Position, _: u32) -> Result<PageRows, StoreError> {
        Err(not_built(&self.shared.label))
    }
}
