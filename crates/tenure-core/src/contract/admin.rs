//! What an operator can see of leases and do to them.

use std::fmt;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::lease::{Change, LeaseName, LeaseRecord, Revoke};
use crate::time::StoreTime;

/// Seeing and steering leases. Every change is written to the audit table in the same transaction.
#[async_trait]
pub trait LeaseAdmin: Send + Sync + fmt::Debug {
    /// Every row with the store's time at which it was read, in order of names; at most `limit`.
    async fn list(&self, limit: u32) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError>;

    /// The latest changes of holder, newest first; of one lease, or of all.
    async fn history(&self, name: Option<&LeaseName>, limit: u32) -> Result<Vec<Change>, StoreError>;

    /// Has the present holder out of office. Without `force` it is told at its next renewal and the lease is free once
    /// it has stopped; with `force` the lease is free at once, while the holder may still believe in it for a while.
    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError>;
}
