//! Contracts that are written elsewhere at this moment; this file goes away at the merge.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{
    AppendError, CheckpointStore, EnqueueError, EventStore, OutboxAdmin, OutboxStore,
};
use tenure_core::event::{
    self, AllPage, Append, AppendAnswer, Position, Snapshot, StreamName, StreamPage, StreamRead,
};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Details, Enqueued, Filter, Limits, Loaded, Look, NewMessage, Outcome, Page, Recorded, Retention, RowId,
    Selection, Stats, Summary, Swept,
};
use tenure_core::subscription::{Advance, Checkpoint, Parked, Progress, Step, SubscriptionName};

use crate::store::SqlStore;

fn not_yet() -> StoreError {
    StoreError::Failed { store: "sql".into(), message: "not yet".into(), source: None }
}

#[async_trait]
impl OutboxStore for SqlStore {
    async fn enqueue(&self, _: &[NewMessage], _: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        Err(not_yet().into())
    }
    async fn look(&self, _: &Look) -> Result<Page, StoreError> {
        Err(not_yet())
    }
    async fn load(&self, _: RowId, _: &Limits) -> Result<Loaded, StoreError> {
        Err(not_yet())
    }
    async fn record(&self, _: Option<&Fence>, _: &NodeName, _: &[Outcome]) -> Result<Recorded, StoreError> {
        Err(not_yet())
    }
    async fn sweep(&self, _: Option<&Fence>, _: &Retention, _: Option<i64>) -> Result<Swept, StoreError> {
        Err(not_yet())
    }
}

#[async_trait]
impl OutboxAdmin for SqlStore {
    async fn stats(&self) -> Result<Stats, StoreError> {
        Err(not_yet())
    }
    async fn list(&self, _: &Selection) -> Result<Vec<Summary>, StoreError> {
        Err(not_yet())
    }
    async fn show(&self, _: &str) -> Result<Option<Details>, StoreError> {
        Err(not_yet())
    }
    async fn count_dead(&self, _: &Filter) -> Result<u64, StoreError> {
        Err(not_yet())
    }
    async fn retry(&self, _: &Filter, _: &str, _: u32) -> Result<Vec<String>, StoreError> {
        Err(not_yet())
    }
    async fn discard(&self, _: &Filter, _: &str, _: u32) -> Result<Vec<String>, StoreError> {
        Err(not_yet())
    }
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
