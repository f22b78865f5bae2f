//! What the suite needs of a backend under test.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, SessionLocks};
use tenure_core::lease::{Fence, FenceCheck, LeaseName, Term};

/// A backend under test. Each test makes its own value, but several may share one server: the suite uses fresh names.
#[async_trait]
pub trait Backend: Send + Sync {
    /// A handle on the store as another node would have it: connections of its own, the same leases.
    async fn store(&self) -> Arc<dyn LeaseStore>;

    /// Lets `span` pass by the store's clock.
    async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// The operator's view, where the backend has one.
    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        None
    }

    /// The registry, where the backend has one.
    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        None
    }

    /// A provider of session locks as another node would have it, where the backend has one.
    async fn locks(&self) -> Option<Arc<dyn SessionLocks>> {
        None
    }

    /// Checks a fence in a transaction of its own, as a user would; `None` where the backend protects nothing.
    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let _ = fence;
        None
    }

    /// Deletes the lease's row or object behind the store's back; false where that cannot be done.
    async fn delete_row(&self, name: &LeaseName) -> bool {
        let _ = name;
        false
    }

    /// Sets the term in the lease's row back by one, as a restored backup would; false where that cannot be done.
    async fn regress_term(&self, name: &LeaseName) -> bool {
        let _ = name;
        false
    }

    /// Ends, from the server's side, every session on which a presence or a session lock of this backend lives; false
    /// where that cannot be done. Sessions of other values of this type are other tests': leave them alone.
    async fn kill_sessions(&self) -> bool {
        false
    }

    /// The shortest ttl that this store can keep; cases that let a grant expire wait a little longer than this.
    fn short_ttl(&self) -> Duration {
        Duration::from_millis(300)
    }

    /// Whether this can be the first term of a lease. Where a store counts the terms of all leases in one row, as revisions
    /// are counted, any can.
    fn begins_with(&self, term: Term) -> bool {
        term == Term::FIRST
    }

    /// What this backend must have: a case that finds it missing fails, where it would else be skipped.
    fn promises(&self) -> &'static [Need] {
        &[]
    }
}

/// Something a case needs and not every backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// [`LeaseStore::presence`].
    Presence,
    /// A store that ends silent sessions: [`Capabilities::silence`](tenure_core::contract::Capabilities::silence).
    Silence,
    /// [`Backend::admin`].
    Admin,
    /// [`Backend::registry`].
    Registry,
    /// [`Backend::locks`].
    Locks,
    /// [`Backend::check_fence`].
    Fence,
    /// [`Backend::delete_row`].
    DeleteRow,
    /// [`Backend::regress_term`].
    RegressTerm,
    /// [`Backend::kill_sessions`].
    KillSessions,
    /// [`OutboxBackend::writes_at_once`](crate::outbox::OutboxBackend::writes_at_once).
    ConcurrentWriters,
    /// [`OutboxStore::listen`](tenure_core::contract::OutboxStore::listen),
    /// [`EventStore::watch`](tenure_core::contract::EventStore::watch) and
    /// [`ClusterStore::watch`](tenure_core::contract::ClusterStore::watch).
    Wakeup,
    /// [`OutboxStore::lists_arrivals`](tenure_core::contract::OutboxStore::lists_arrivals).
    Arrivals,
    /// [`EventBackend::begin_append`](crate::events::EventBackend::begin_append).
    UserAppend,
    /// [`EventBackend::subscription_audit`](crate::events::EventBackend::subscription_audit) and
    /// [`ClusterBackend::daemon_audit`](crate::cluster::ClusterBackend::daemon_audit).
    Audit,
    /// [`ClusterBackend::neighbour`](crate::cluster::ClusterBackend::neighbour).
    Neighbour,
    /// [`ClusterBackend::hold_fence`](crate::cluster::ClusterBackend::hold_fence).
    HeldFence,
    /// [`EventBackend::damage`](crate::events::EventBackend::damage).
    Damage,
    /// [`LeaseAdmin::forget_history`]: a store may keep everything instead.
    Forgetting,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Presence => "presence",
            Self::Silence => "end of silent sessions",
            Self::Admin => "operator's view",
            Self::Registry => "registry",
            Self::Locks => "session locks",
            Self::Fence => "fence to check",
            Self::DeleteRow => "way to delete a row",
            Self::RegressTerm => "way to set a term back",
            Self::KillSessions => "way to kill sessions",
            Self::ConcurrentWriters => "two writers at once",
            Self::Wakeup => "wake-up",
            Self::Arrivals => "list of what has just come",
            Self::UserAppend => "append in a user's transaction",
            Self::Audit => "view of the audit table",
            Self::Neighbour => "second cluster in the same place",
            Self::HeldFence => "fence that is held by an open transaction",
            Self::Damage => "way to damage a row",
            Self::Forgetting => "way to forget old history",
        })
    }
}
