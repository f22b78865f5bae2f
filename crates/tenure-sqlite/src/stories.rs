//! Streams by name, and events by what they share.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Stories;
use tenure_core::event::{PageRows, Position, STORY_MAX, STREAMS_MAX, StreamLine, StreamName};
use tenure_core::observe::NameRange;

use crate::events;
use crate::store::SqliteStore;

#[async_trait]
impl Stories for SqliteStore {
    async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError> {
        let range = NameRange::of(prefix, after.map(StreamName::as_str));
        self.browse(move |snapshot| events::streams(snapshot, &range, limit.min(STREAMS_MAX))).await
    }

    async fn story(&self, correlation: &str, after: Position, limit: u32) -> Result<PageRows, StoreError> {
        let correlation = correlation.to_owned();
        self.browse(move |snapshot| events::story(snapshot, &correlation, after, limit.min(STORY_MAX))).await
    }
}
