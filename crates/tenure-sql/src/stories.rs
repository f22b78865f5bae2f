//! Streams by name, and events by what they share.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Stories;
use tenure_core::event::{PAGE_BYTES, PageRows, Position, STORY_MAX, STREAMS_MAX, StreamLine, StreamName};

use crate::driver::Turn;
use crate::prefix::names_between;
use crate::reader::recorded;
use crate::store::SqlStore;

#[async_trait]
impl Stories for SqlStore {
    async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError> {
        let shared = &self.shared;
        let mut params = names_between(prefix, after.map(StreamName::as_str));
        params.push(limit.min(STREAMS_MAX).into());
        let rows = shared.rows(Turn::Traffic, &shared.statements.streams_list, params).await?;
        rows.iter().map(|row| shared.reader().stream_line(row)).collect()
    }

    async fn story(&self, correlation: &str, after: Position, limit: u32) -> Result<PageRows, StoreError> {
        let shared = &self.shared;
        let bytes = i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX);
        let limit = limit.clamp(1, STORY_MAX);
        let params = vec![correlation.into(), after.0.into(), limit.into(), bytes.into()];
        let rows = shared.rows(Turn::Traffic, &shared.statements.events_story, params).await?;
        let mut found = PageRows::default();
        rows.iter().filter_map(recorded).for_each(|row| found.push(row));
        Ok(found)
    }
}
