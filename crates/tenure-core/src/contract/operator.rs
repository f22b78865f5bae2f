//! All that an operator's tool needs of a store.

use std::sync::Arc;

use super::{
    AuditLog, Capabilities, CheckpointStore, ClusterStore, EventStore, LeaseAdmin, OutboxAdmin, RunnerStore,
    Stories,
};

/// All that an operator's tool needs of a store. Clones are the same.
#[derive(Debug, Clone)]
pub struct OperatorStores {
    /// Leases and their history.
    pub leases: Arc<dyn LeaseAdmin>,
    /// Messages.
    pub outbox: Arc<dyn OutboxAdmin>,
    /// Events.
    pub events: Arc<dyn EventStore>,
    /// Streams by name, and events by what they share.
    pub stories: Arc<dyn Stories>,
    /// How far those who read events have come.
    pub checkpoints: Arc<dyn CheckpointStore>,
    /// Nodes, and where daemons are.
    pub cluster: Arc<dyn ClusterStore>,
    /// What operators did.
    pub audit: Arc<dyn AuditLog>,
    /// What the loops of all processes say of themselves.
    pub runners: Arc<dyn RunnerStore>,
    /// What the store can do.
    pub capabilities: Capabilities,
}

impl OperatorStores {
    /// Those of a store that has all of them.
    pub fn of<S>(store: Arc<S>, capabilities: Capabilities) -> Self
    where
        S: LeaseAdmin
            + OutboxAdmin
            + EventStore
            + Stories
            + CheckpointStore
            + ClusterStore
            + AuditLog
            + RunnerStore
            + 'static,
    {
        Self {
            leases: store.clone(),
            outbox: store.clone(),
            events: store.clone(),
            stories: store.clone(),
            checkpoints: store.clone(),
            cluster: store.clone(),
            audit: store.clone(),
            runners: store,
            capabilities,
        }
    }
}
