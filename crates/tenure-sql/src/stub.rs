//! Contracts that are written elsewhere at this moment; this file goes away at the merge.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore};
use tenure_core::event::{
    self, AllPage, Append, AppendAnswer, Position, Snapshot, StreamName, StreamPage, StreamRead,
};
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Checkpoint, Parked, Progress, Step, SubscriptionName};

use crate::store::SqlStore;

fn not_yet() -> StoreError {
    StoreError::Failed { store: "sql".into(), message: "not yet".into(), source: None }
}

#[async_trait]
impl EventStore for SqlStore {
    async fn append(&self, _: &Append, _: &event::Limits) -> Result<AppendAnswer, AppendError> {
        Err(not_yet().into())
    }
    async fn read_stream(&self, _: &StreamRead) -> Result<StreamPage, StoreError> {
        Err(not_yet())
    }
    async fn read_all(&self, _: Position, _: u32) -> Result<AllPage, StoreError> {
        Err(not_yet())
    }
    async fn load_snapshot(&self, _: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        Err(not_yet())
    }
    async fn save_snapshot(&self, _: &Snapshot) -> Result<(), StoreError> {
        Err(not_yet())
    }
}

#[async_trait]
impl CheckpointStore for SqlStore {
    async fn checkpoint(&self, _: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        Err(not_yet())
    }
    async fn advance(&self, _: Option<&Fence>, _: &Step) -> Result<Advance, StoreError> {
        Err(not_yet())
    }
    async fn subscriptions(&self) -> Result<Vec<Progress>, StoreError> {
        Err(not_yet())
    }
    async fn parked(&self, _: &SubscriptionName, _: u32) -> Result<Vec<Parked>, StoreError> {
        Err(not_yet())
    }
    async fn rewind(&self, _: &SubscriptionName, _: Position, _: &str) -> Result<(), StoreError> {
        Err(not_yet())
    }
}
