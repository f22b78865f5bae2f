//! Placeholder until the contract is there.
use std::sync::Arc;
use tenure_core::contract::{CheckpointStore, ClusterStore, EventStore, LeaseAdmin, OutboxAdmin};

/// All that an operator's tool needs of a store.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct OperatorStores {
    pub leases: Arc<dyn LeaseAdmin>,
    pub outbox: Arc<dyn OutboxAdmin>,
    pub events: Arc<dyn EventStore>,
    pub checkpoints: Arc<dyn CheckpointStore>,
    pub cluster: Arc<dyn ClusterStore>,
}
