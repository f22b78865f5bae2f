//! A cluster: its nodes, and where its daemons are.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::Wakeup;
use crate::cluster::{Answer, ClusterLook, Cursor, Daemon, DaemonFilter, Order};
use crate::error::StoreError;

/// A place where a cluster is kept, beside the leases of its nodes.
///
/// An error means that the outcome is unknown. Every order is safe to repeat. Orders are decided by
/// [`decide`](crate::cluster::decide()), one after another, each in one transaction that holds the cluster's row.
#[async_trait]
pub trait ClusterStore: Send + Sync + fmt::Debug {
    /// The cluster without its daemons, in one statement.
    async fn look(&self) -> Result<ClusterLook, StoreError>;

    /// The daemons that changed after a place, by revision and name, at most `limit`. Whoever has read to the end has
    /// missed nothing, except that a daemon which is gone for good simply is not there.
    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, StoreError>;

    /// The daemons that a filter lets through, by name.
    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError>;

    /// Carries out an order.
    async fn apply(&self, order: &Order) -> Result<Answer, StoreError>;

    /// Has everyone look who watches, although nothing of the cluster itself changed: a node's lease has ended before its
    /// time, say. A hint, as all wake-ups are.
    async fn wake(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Opens what wakes a node when the cluster changed, where the store has such a thing.
    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(None)
    }
}
