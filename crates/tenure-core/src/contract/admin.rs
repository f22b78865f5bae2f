//! What an operator can see of leases and do to them.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::lease::{Change, Forgotten, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke};
use crate::time::StoreTime;

/// Seeing and steering leases. Every change is written to the audit table in the same transaction.
#[async_trait]
pub trait LeaseAdmin: Send + Sync + fmt::Debug {
    /// The rows that `page` stands for with the store's time at which they were read, in order of names.
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError>;

    /// The latest changes of holder, newest first; of one lease, or of all; those before a line, or from the last one on.
    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError>;

    /// Forgets old history by one bounded step: looks at the lines after `after`, at most `limit` and at most
    /// [`FORGET_MAX`](crate::lease::FORGET_MAX), and deletes those older than `keep`. The lines of a lease's last term are
    /// never deleted: by them a term is remembered whose row is gone.
    ///
    /// A store that does not say otherwise keeps everything.
    async fn forget_history(
        &self,
        keep: Duration,
        after: Option<HistoryId>,
        limit: u32,
    ) -> Result<Forgotten, StoreError> {
        let _ = (keep, after, limit);
        Ok(Forgotten::default())
    }

    /// Has the present holder out of office. Without `force` it is told at its next renewal and the lease is free once
    /// it has stopped; with `force` the lease is free at once, while the holder may still believe in it for a while.
    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError>;
}
