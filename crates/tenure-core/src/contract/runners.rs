//! What the runners of all processes say of themselves.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::id::Node;
use crate::observe::{RunnerReport, Runners};

/// The table of runners. What stands in it is for people to see: nothing is ever decided by it.
#[async_trait]
pub trait RunnerStore: Send + Sync + fmt::Debug {
    /// Writes what all runners of a process say: all of them in one transaction. Rows of this node's incarnation that are
    /// not among them go; with no reports, all of its rows go.
    async fn report(&self, node: &Node, reports: &[RunnerReport]) -> Result<(), StoreError>;

    /// The runners that were seen within `within`, by node, incarnation, kind and name; at most `limit`, at most
    /// [`RUNNER_ROWS_MAX`](crate::observe::RUNNER_ROWS_MAX).
    async fn runners(&self, within: Duration, limit: u32) -> Result<Runners, StoreError>;

    /// Deletes rows that nobody has written for `after`; at most 1,000. Answers how many.
    async fn forget(&self, after: Duration) -> Result<u64, StoreError>;
}
