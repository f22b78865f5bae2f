//! What the suite needs of a backend under test.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, SessionLocks};
use tenure_core::lease::{Fence, FenceCheck, LeaseName};

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
    /// where that cannot be done.
    async fn kill_sessions(&self) -> bool {
        false
    }
}
