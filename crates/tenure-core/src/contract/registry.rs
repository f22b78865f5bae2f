//! The registry: who holds which lock, written down for people to see.
//!
//! A lease of the store's own tables is its own entry. What is granted elsewhere (session locks, Kubernetes, etcd,
//! Kafka) is recorded here, and gets a term of this store on the way, so that it can fence writes to this store too.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::lease::Term;
use crate::registry::{Entry, Recorded, Touched};

/// Writes down holdings that were granted elsewhere.
///
/// Whoever only wants to show them goes on when it fails; whoever fences writes to this store with the term that it gives
/// does not act without it. See `Recorder` and `FencedLeases` in the crate `tenure`.
#[async_trait]
pub trait LeaseRegistry: Send + Sync + fmt::Debug {
    /// Creates the tables if they are not there.
    async fn prepare(&self) -> Result<(), StoreError>;

    /// Writes that `entry` took office, under a term of this store that is higher than any before it. It counts as living for
    /// `stale_after`. The same holding written again keeps its term.
    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError>;

    /// Writes that `entry` still holds `term`, and counts as living for `stale_after` from now; tells why not where the
    /// row belongs to someone else by now, was released, or was revoked by an operator.
    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError>;

    /// Stamps the row of `entry` as given back; it stays.
    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError>;

    /// Stamps every recorded row that nobody has touched for as long as it was said to live, and returns how many.
    /// Leases that this store itself grants are not its business.
    async fn sweep(&self) -> Result<u64, StoreError>;
}
