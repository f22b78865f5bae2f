//! A store that is watched: it counts what would change something, can be made to hang, and notices a call that was dropped
//! before its end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::cluster::{Answer, ClusterLook, Cursor, Daemon, DaemonFilter, Order};
use tenure_core::contract::{
    AppendError, AuditLog, CheckpointStore, ClusterStore, EventStore, LeaseAdmin, OutboxAdmin, RunnerStore,
    Stories,
};
use tenure_core::error::StoreError;
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, PageRows, Position, Snapshot, StreamLine, StreamName, StreamPage,
    StreamRead,
};
use tenure_core::id::Node;
use tenure_core::lease::{Change, Fence, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke};
use tenure_core::memory::MemoryStore;
use tenure_core::observe::{AuditPage, AuditSelection, RunnerReport, Runners};
use tenure_core::outbox::{
    Acted, CauseId, Counted, DeadWalk, Details, Graves, Listing, Pulse, Selection, Stats,
};
use tenure_core::subscription::{Advance, Checkpoint, Parked, Progress, Rewind, Step, SubscriptionName};
use tenure_core::time::StoreTime;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) inner: MemoryStore,
    writes: AtomicUsize,
    begun: AtomicUsize,
    ended: AtomicUsize,
    dropped: AtomicUsize,
    hangs: watch::Sender<bool>,
    away: std::sync::atomic::AtomicBool,
    loses: std::sync::atomic::AtomicBool,
}

impl Watched {
    pub(crate) fn new(inner: MemoryStore) -> Self {
        Self {
            inner,
            writes: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            hangs: watch::Sender::new(false),
            away: false.into(),
            loses: false.into(),
        }
    }

    /// From now on nothing is answered, or everything is again.
    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.send_replace(hangs);
    }

    /// From now on everything is an error, or nothing is.
    pub(crate) fn go_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// From now on what is asked is done, and every answer is lost; or none is.
    pub(crate) fn lose_answers(&self, loses: bool) {
        self.loses.store(loses, Ordering::SeqCst);
    }

    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    pub(crate) fn under_way(&self) -> usize {
        self.begun.load(Ordering::SeqCst) - self.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    async fn call<T>(
        &self,
        writes: bool,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut under_way = UnderWay { store: self, done: false };
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.writes.fetch_add(usize::from(writes), Ordering::SeqCst);
        let _ = self.hangs.subscribe().wait_for(|hangs| !hangs).await;
        let answer = if self.away.load(Ordering::SeqCst) {
            Err(StoreError::Unreachable { store: "memory".into(), message: "it went away".into() })
        } else {
            let answer = call.await;
            match self.loses.load(Ordering::SeqCst) {
                false => answer,
                true => Err(StoreError::Unreachable {
                    store: "memory".into(),
                    message: "its answer is lost".into(),
                }),
            }
        };
        under_way.done = true;
        answer
    }
}

struct UnderWay<'a> {
    store: &'a Watched,
    done: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.store.ended.fetch_add(1, Ordering::SeqCst);
        self.store.dropped.fetch_add(usize::from(!self.done), Ordering::SeqCst);
    }
}

#[async_trait]
impl LeaseAdmin for Watched {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        self.call(false, LeaseAdmin::list(&self.inner, page)).await
    }
    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        self.call(false, self.inner.history(name, before, limit)).await
    }
    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        self.call(true, self.inner.revoke(name, by, force)).await
    }
}

#[async_trait]
impl OutboxAdmin for Watched {
    async fn stats(&self) -> Result<Stats, StoreError> {
        self.call(false, self.inner.stats()).await
    }
    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        self.call(false, self.inner.pulse(at_most)).await
    }
    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        self.call(false, OutboxAdmin::list(&self.inner, selection)).await
    }
    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        self.call(false, self.inner.show(id, payload_max)).await
    }
    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        self.call(false, self.inner.count_dead(walk)).await
    }
    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError> {
        self.call(false, self.inner.graves(after, limit, count_max)).await
    }
    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.call(true, self.inner.retry(walk, by)).await
    }
    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.call(true, self.inner.discard(walk, by)).await
    }
}

#[async_trait]
impl EventStore for Watched {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inner.append(append, limits).await
    }
    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        self.call(false, self.inner.read_stream(read)).await
    }
    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        self.call(false, self.inner.read_all(after, limit)).await
    }
    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        self.call(false, self.inner.load_snapshot(stream)).await
    }
    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.call(true, self.inner.save_snapshot(snapshot)).await
    }
}

#[async_trait]
impl Stories for Watched {
    async fn streams(
        &self,
        prefix: &str,
        after: Option<&StreamName>,
        limit: u32,
    ) -> Result<Vec<StreamLine>, StoreError> {
        self.call(false, self.inner.streams(prefix, after, limit)).await
    }
    async fn story(&self, correlation: &str, after: Position, limit: u32) -> Result<PageRows, StoreError> {
        self.call(false, self.inner.story(correlation, after, limit)).await
    }
}

#[async_trait]
impl CheckpointStore for Watched {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        self.call(false, self.inner.checkpoint(name)).await
    }
    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        self.call(true, self.inner.advance(office, step)).await
    }
    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        self.call(false, self.inner.subscriptions(after, limit)).await
    }
    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        self.call(false, self.inner.parked(name, after, limit)).await
    }
    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        self.call(true, self.inner.rewind(name, to, by)).await
    }
}

#[async_trait]
impl ClusterStore for Watched {
    async fn look(&self) -> Result<ClusterLook, StoreError> {
        self.call(false, ClusterStore::look(&self.inner)).await
    }
    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, StoreError> {
        self.call(false, self.inner.daemons_after(after, limit)).await
    }
    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError> {
        self.call(false, self.inner.daemons(filter)).await
    }
    async fn apply(&self, order: &Order) -> Result<Answer, StoreError> {
        self.call(true, self.inner.apply(order)).await
    }
}

#[async_trait]
impl AuditLog for Watched {
    async fn audit(&self, selection: &AuditSelection) -> Result<AuditPage, StoreError> {
        self.call(false, self.inner.audit(selection)).await
    }
    async fn note(&self, actor: &str, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        // That a token was refused is noted whatever was asked for.
        self.call(action != "dashboard.refused", self.inner.note(actor, action, subject, detail)).await
    }
}

#[async_trait]
impl RunnerStore for Watched {
    async fn report(&self, node: &Node, reports: &[RunnerReport]) -> Result<(), StoreError> {
        self.call(true, self.inner.report(node, reports)).await
    }
    async fn runners(&self, within: Duration, limit: u32) -> Result<Runners, StoreError> {
        self.call(false, self.inner.runners(within, limit)).await
    }
    async fn forget(&self, after: Duration) -> Result<u64, StoreError> {
        self.call(true, self.inner.forget(after)).await
    }
}
