//! The lease store: a row with a term, changed by compare-and-swap.

use std::fmt;

use async_trait::async_trait;

use super::{Capabilities, Presence, Vacancy};
use crate::error::StoreError;
use crate::lease::{Acquire, Claim, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal};

/// A place where leases are granted.
///
/// An error means that the outcome is unknown: the call may have taken effect. Every method must be safe to repeat, and
/// must either run to its end or leave nothing half done when its future is dropped.
#[async_trait]
pub trait LeaseStore: Send + Sync + fmt::Debug {
    /// Grants the lease if nobody holds it by the store's own clock, if its holder is proven to be gone, or if this very
    /// claim holds it already. Each new grant has a higher term than any before it.
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError>;

    /// Extends exactly this grant by its ttl from now, if it still holds.
    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError>;

    /// Ends exactly this grant, if nobody has taken over since. A grant whose ttl has ended is stamped as well.
    async fn release(&self, grant: &Grant) -> Result<Release, StoreError>;

    /// The lease's row, if there ever was a holder.
    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError>;

    /// Nobody in this process waits for the lease any more. A store that keeps a place for those who wait gives it up, so that
    /// a process which ends now keeps nobody waiting; a grant stays as it is. Dropping this is fine. Most stores keep no
    /// such place and need not do anything.
    async fn forgo(&self, name: &LeaseName) -> Result<(), StoreError> {
        let _ = name;
        Ok(())
    }

    /// The means to notice a holder's death before its ttl ends, where the store has one.
    fn presence(&self) -> Option<&dyn Presence> {
        None
    }

    /// The means to be told at once that a grant is over, where the store has one and has no presence.
    fn vacancy(&self) -> Option<&dyn Vacancy> {
        None
    }

    /// What the terms of this grant are counted from, where the store's count can begin anew (an object that is deleted
    /// and made again): terms of different epochs say nothing of each other. `None` for terms that rise for ever.
    fn epoch(&self, grant: &Grant) -> Option<String> {
        let _ = grant;
        None
    }

    /// Whether the term of a [holder](crate::lease::Holder) and that of a grant are numbers of one count. Not so where the
    /// grant's is given by another store than the one that granted it; then the two say nothing of each other.
    fn one_count(&self) -> bool {
        true
    }

    /// What this store can and cannot do here and now.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}
