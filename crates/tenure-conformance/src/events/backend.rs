//! What the event part of the suite needs of a backend under test.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore, OperatorStores};
use tenure_core::event::{Append, AppendAnswer, Position};

use crate::outbox::{AuditLine, OutboxBackend};

/// A backend with events, whose leases, outbox and inbox are in the same store. Each value has tables of its own, without a
/// row in them.
#[async_trait]
pub trait EventBackend: OutboxBackend {
    /// A handle on the events as another node would have it.
    async fn events(&self) -> Arc<dyn EventStore>;

    /// A handle on the checkpoints as another node would have it.
    async fn checkpoints(&self) -> Arc<dyn CheckpointStore>;

    /// All that an operator's tool has, as another node would have it.
    async fn operators(&self) -> OperatorStores;

    /// A transaction as a user's own program begins it, on a connection of its own, in which it appends; `None` where the
    /// store knows no such thing. Where [`OutboxBackend::writes_at_once`] is false, others wait until it has ended.
    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        None
    }

    /// The audit table's rows about subscriptions, the first one first; `None` where the suite cannot see them.
    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        None
    }

    /// Damages the row of the event at a position, as someone might by hand: it cannot be read any more, but its stream,
    /// version and type can. Whether that was done; `false` where the suite cannot do it.
    async fn damage(&self, _position: Position) -> bool {
        false
    }
}

/// An open transaction of a user's own program that appends. Dropped without a commit, it is rolled back.
#[async_trait]
pub trait UserAppend: Send {
    /// Appends, with an outbox and the default limits.
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError>;

    /// Commits. An error means that nothing was written.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// Rolls back, and returns when that is done.
    async fn rollback(self: Box<Self>);
}
