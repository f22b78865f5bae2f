//! Stores that fail when a test says so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EnqueueError, EventStore, OutboxStore, Wakeup};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Enqueued, Limits as OutboxLimits, Loaded, Look, NewMessage, Outcome, Page, Recorded, Retention, RowId,
    Swept,
};
use tenure_core::subscription::{Advance, Checkpoint, Parked, Progress, Rewind, Step, SubscriptionName};

/// A call that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// [`EventStore::append`].
    Append,
    /// [`EventStore::read_stream`] and [`EventStore::read_all`].
    Read,
    /// [`EventStore::load_snapshot`] and [`EventStore::save_snapshot`].
    Snapshot,
    /// [`CheckpointStore::checkpoint`] and [`CheckpointStore::advance`].
    Checkpoint,
    /// [`OutboxStore::enqueue`].
    Enqueue,
    /// [`OutboxStore::look`] and [`OutboxStore::load`].
    Look,
    /// [`OutboxStore::record`]: between sending and marking.
    Record,
}

/// How a call fails. The caller hears the same of both: that the outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not happen.
    Before,
    /// It happens, and its answer is lost.
    After,
}

/// The faults that are to come. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<VecDeque<(Call, Fault)>>>);

impl Faults {
    /// None so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the next call of this kind fail that no earlier fault is for.
    pub fn next(&self, call: Call, fault: Fault) -> &Self {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((call, fault));
        self
    }

    /// Whether every fault has come.
    pub fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Events that fail when they are to.
    pub fn events(&self, store: Arc<dyn EventStore>) -> Arc<dyn EventStore> {
        Arc::new(Faulty { store, faults: self.clone() })
    }

    /// Checkpoints that fail when they are to.
    pub fn checkpoints(&self, store: Arc<dyn CheckpointStore>) -> Arc<dyn CheckpointStore> {
        Arc::new(Faulty { store, faults: self.clone() })
    }

    /// An outbox that fails when it is to.
    pub fn outbox(&self, store: Arc<dyn OutboxStore>) -> Arc<dyn OutboxStore> {
        Arc::new(Faulty { store, faults: self.clone() })
    }

    fn take(&self, call: Call) -> Option<Fault> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = faults.iter().position(|(known, _)| *known == call)?;
        faults.remove(at).map(|(_, fault)| fault)
    }

    /// Makes a call that may have to fail.
    async fn make<T, E: From<StoreError>>(
        &self,
        call: Call,
        made: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        match self.take(call) {
            None => made.await,
            Some(Fault::Before) => Err(unknown().into()),
            Some(Fault::After) => {
                made.await?;
                Err(unknown().into())
            }
        }
    }
}

fn unknown() -> StoreError {
    StoreError::Unreachable {
        store: "a faulty store".into(),
        message: "the test has cut the connection".into(),
    }
}

struct Faulty<S: ?Sized> {
    store: Arc<S>,
    faults: Faults,
}

impl<S: fmt::Debug + ?Sized> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("store", &self.store).finish_non_exhaustive()
    }
}

#[async_trait]
impl EventStore for Faulty<dyn EventStore> {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        self.faults.make(Call::Append, self.store.append(append, limits)).await
    }

    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        self.faults.make(Call::Read, self.store.read_stream(read)).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        self.faults.make(Call::Read, self.store.read_all(after, limit)).await
    }

    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        self.faults.make(Call::Snapshot, self.store.load_snapshot(stream)).await
    }

    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.faults.make(Call::Snapshot, self.store.save_snapshot(snapshot)).await
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        self.store.watch().await
    }
}

#[async_trait]
impl CheckpointStore for Faulty<dyn CheckpointStore> {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        self.faults.make(Call::Checkpoint, self.store.checkpoint(name)).await
    }

    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        self.faults.make(Call::Checkpoint, self.store.advance(office, step)).await
    }

    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        self.store.subscriptions(after, limit).await
    }

    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        self.store.parked(name, after, limit).await
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        self.store.rewind(name, to, by).await
    }
}

#[async_trait]
impl OutboxStore for Faulty<dyn OutboxStore> {
    async fn enqueue(
        &self,
        messages: &[NewMessage],
        limits: &OutboxLimits,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        self.faults.make(Call::Enqueue, self.store.enqueue(messages, limits)).await
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        self.faults.make(Call::Look, self.store.look(look)).await
    }

    async fn load(&self, id: RowId, limits: &OutboxLimits) -> Result<Loaded, StoreError> {
        self.faults.make(Call::Look, self.store.load(id, limits)).await
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        self.faults.make(Call::Record, self.store.record(office, node, outcomes)).await
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        self.store.sweep(office, retention, resume).await
    }

    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        self.store.listen().await
    }
}
