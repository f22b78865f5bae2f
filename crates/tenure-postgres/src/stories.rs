//! Streams by name, and events by what they share.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Stories;
use tenure_core::event::{PageRows, Position, StreamLine, StreamName};

use crate::store::PostgresStore;

#[async_trait]
impl Stories for PostgresStore {
    async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError> {
        self.shared.streams(prefix, after, limit).await
    }

    async fn story(&self, correlation: &str, after: Position, limit: u32) -> Result<PageRows, StoreError> {
        self.shared.story(correlation, after, limit).await
    }
}
