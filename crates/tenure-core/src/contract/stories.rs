//! Looking through events, as people do.

use std::fmt;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::event::{PageRows, Position, StreamLine, StreamName};

/// Finding streams by name, and events by what they share.
#[async_trait]
pub trait Stories: Send + Sync + fmt::Debug {
    /// Streams by name after `after` whose name begins with `prefix`, byte by byte; at most `limit`, at most
    /// [`STREAMS_MAX`](crate::event::STREAMS_MAX).
    async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError>;

    /// Events that share a correlation, by position, after `after`; at most `limit`, at most
    /// [`STORY_MAX`](crate::event::STORY_MAX), and no more payload than a page of all events has. A row that cannot be read
    /// is told, and keeps nobody from the others.
    async fn story(&self, correlation: &str, after: Position, limit: u32) -> Result<PageRows, StoreError>;
}
