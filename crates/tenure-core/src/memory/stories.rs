//! Streams by name, and events by what they share.

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::contract::Stories;
use crate::error::StoreError;
use crate::event::{PageRows, Position, STORY_MAX, STREAMS_MAX, StreamLine, StreamName};

#[async_trait]
impl Stories for MemoryStore {
    async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError> {
        Ok(self.state().events.streams(prefix, after, limit.min(STREAMS_MAX)))
    }

    async fn story(&self, correlation: &str, after: Position, limit: u32) -> Result<PageRows, StoreError> {
        Ok(self.state().events.story(correlation, after, limit.min(STORY_MAX)))
    }
}
