//! Events and checkpoints that are wrong on purpose, each in one way that a real store could be wrong in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::events::UserAppend;
use tenure_conformance::outbox::{AuditLine, PlainRow, UserTransaction};
use tenure_conformance::{Backend, EventBackend, OutboxBackend};
use tenure_core::StoreError;
use tenure_core::contract::{
    AppendError, CheckpointStore, EventStore, LeaseAdmin, LeaseStore, OperatorStores, OutboxAdmin,
    OutboxStore, Wakeup,
};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, AppendProblem, Direction, Expected, Limits, Metadata, Position, Recorded,
    Snapshot, StreamName, StreamPage, StreamRead, Version,
};
use tenure_core::lease::Fence;
use tenure_core::memory::MemoryStore;
use tenure_core::outbox::Body;
use tenure_core::subscription::{Advance, Checkpoint, Parked, Progress, Rewind, Step, SubscriptionName};
use uuid::Uuid;

use crate::memory::MemoryBackend;

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// None at all: what the others are measured by.
    None,
    /// Events first, and then the dispatches, in a transaction of their own.
    DispatchesBesides,
    /// Dispatches are not sent.
    DispatchesForgotten,
    /// A retry is not known by its ids.
    IdsIgnored,
    /// A known id with another content is an ordinary conflict.
    OtherContentIgnored,
    /// A retry sends its dispatches again.
    RetrySends,
    /// Readers go on to the last position that was given out, whatever is open.
    HorizonIgnored,
    /// Readers go on to the last position that was given out, wherever the page ends.
    PageEndsAtHead,
    /// A row that cannot be read ends everything.
    DamageIsFatal,
    /// A row that cannot be read is passed over.
    DamagePassedOver,
    /// A stream is read without the row that cannot be.
    StreamWithoutDamaged,
    /// A page begins with the event that the one before it ended with.
    ReadsTwice,
    /// A reader that is ahead of the store is not told.
    AheadUntold,
    /// Limits of pages are not looked at.
    PageLimitIgnored,
    /// A stream is read from its first or last event on, whatever was asked for.
    FromIgnored,
    /// A stream is always read forward.
    BackwardIgnored,
    /// The version of a page is that of its last event.
    VersionOfPage,
    /// Marks are not written.
    MarkForgotten,
    /// The mark first, in a transaction of its own.
    MarkBesides,
    /// A refusal is noted as if the message had taken effect.
    RefusalForgotten,
    /// What stands for the content is not compared.
    FingerprintIgnored,
    /// An append without events does not look at the version.
    EmptyUnchecked,
    /// Where an event comes from is not kept.
    MetadataForgotten,
    /// Bytes are stored as text.
    BytesAsText,
    /// Names of streams are compared without regard to case.
    NamesFolded,
    /// Limits are not looked at.
    LimitsIgnored,
    /// What a user's transaction appends is there at once.
    CommitsAtOnce,
    /// A user's transaction that was rolled back holds readers up for ever.
    RollbackStalls,
    /// The snapshot that was saved last counts.
    SnapshotOverwrites,
    /// A snapshot at a version that has one is not kept.
    SnapshotOnlyNewer,
    /// The fence of a step is not looked at.
    StepUnfenced,
    /// A step that leads back does nothing, and says that it was done.
    StepsBack,
    /// What is put aside is forgotten.
    ParkedForgotten,
    /// A step is not asked what its reader knows of rewinds.
    RewindsIgnored,
    /// What was put aside stays after a rewind.
    RewindKeepsParked,
    /// A rewind goes to where nothing has been appended yet.
    RewindBeyondTheEnd,
    /// What operators do is not written down.
    Unaudited,
    /// Nobody is ever woken.
    NeverWoken,
}

#[derive(Clone)]
pub(crate) struct BrokenEventBackend {
    inner: Arc<MemoryBackend>,
    flaw: Flaw,
    notes: Notes,
}

/// What a flaw needs to remember.
#[derive(Debug, Clone, Default)]
struct Notes {
    /// Every stream that was ever appended to.
    streams: Arc<Mutex<BTreeSet<StreamName>>>,
    snapshots: Arc<Mutex<BTreeMap<StreamName, Snapshot>>>,
}

impl BrokenEventBackend {
    pub(crate) fn start(flaw: Flaw) -> Self {
        Self { inner: Arc::new(MemoryBackend::start()), flaw, notes: Notes::default() }
    }

    fn broken(&self) -> Broken {
        Broken { inner: self.inner.store.clone(), flaw: self.flaw, notes: self.notes.clone() }
    }
}

#[async_trait]
impl Backend for BrokenEventBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        self.inner.store().await
    }

    async fn pass(&self, span: Duration) {
        self.inner.pass(span).await;
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        self.inner.admin().await
    }
}

#[async_trait]
impl OutboxBackend for BrokenEventBackend {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        self.inner.outbox().await
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        self.inner.outbox_admin().await
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        self.inner.begin().await
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        self.inner.insert_plain(row).await
    }

    async fn effects(&self) -> Vec<String> {
        self.inner.effects().await
    }

    async fn audit(&self) -> Vec<AuditLine> {
        self.inner.audit().await
    }

    async fn attempt_rows(&self) -> u64 {
        self.inner.attempt_rows().await
    }
}

#[async_trait]
impl EventBackend for BrokenEventBackend {
    async fn events(&self) -> Arc<dyn EventStore> {
        Arc::new(self.broken())
    }

    async fn operators(&self) -> OperatorStores {
        OperatorStores { checkpoints: Arc::new(self.broken()), ..self.inner.operators().await }
    }

    async fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
        Arc::new(self.broken())
    }

    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        let user = self.inner.begin_append().await?;
        Some(Box::new(BrokenUser { user, broken: self.broken() }))
    }

    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        match self.flaw {
            Flaw::Unaudited => Some(Vec::new()),
            _ => self.inner.subscription_audit().await,
        }
    }

    async fn damage(&self, position: Position) -> bool {
        self.inner.damage(position).await
    }
}

struct BrokenUser {
    user: Box<dyn UserAppend>,
    broken: Broken,
}

#[async_trait]
impl UserAppend for BrokenUser {
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.broken.notices(append);
        match self.broken.flaw {
            Flaw::CommitsAtOnce => self.broken.inner.append(append, &Limits::default()).await,
            _ => self.user.append(append).await,
        }
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.user.commit().await
    }

    async fn rollback(self: Box<Self>) {
        if self.broken.flaw == Flaw::RollbackStalls {
            // Never dropped, it is open for ever.
            std::mem::forget(self.user);
        }
    }
}

#[derive(Debug)]
struct Broken {
    inner: MemoryStore,
    flaw: Flaw,
    notes: Notes,
}

impl Broken {
    fn notices(&self, append: &Append) {
        self.notes.streams.lock().expect("no note panics").insert(append.stream.clone());
    }

    /// Every event that is committed, also beyond what is open.
    async fn committed(&self, after: Position) -> Result<Vec<Recorded>, StoreError> {
        let streams = self.notes.streams.lock().expect("no note panics").clone();
        let mut events = Vec::new();
        for stream in streams {
            let read = StreamRead::forward(stream, Version(1), 10_000);
            events.extend(self.inner.read_stream(&read).await?.events);
        }
        events.retain(|event| event.position > after);
        events.sort_by_key(|event| event.position);
        Ok(events)
    }

    fn folded(&self, stream: &StreamName) -> StreamName {
        match self.flaw {
            Flaw::NamesFolded => {
                StreamName::new(stream.as_str().to_lowercase()).unwrap_or_else(|_| stream.clone())
            }
            _ => stream.clone(),
        }
    }

    /// The append as this store takes it in.
    fn changed(&self, append: &Append) -> Append {
        let mut append = Append { stream: self.folded(&append.stream), ..append.clone() };
        match self.flaw {
            Flaw::DispatchesForgotten | Flaw::DispatchesBesides => append.dispatches.clear(),
            Flaw::IdsIgnored => {
                append.events.iter_mut().for_each(|event| event.id = Uuid::from_u128(rand()));
                append.expected = Expected::Any;
            }
            Flaw::MarkForgotten | Flaw::MarkBesides => append.mark = None,
            Flaw::RefusalForgotten => append.mark.iter_mut().for_each(|mark| mark.refused = None),
            Flaw::FingerprintIgnored => append.mark.iter_mut().for_each(|mark| mark.fingerprint = None),
            Flaw::EmptyUnchecked if append.events.is_empty() => append.expected = Expected::Any,
            Flaw::MetadataForgotten => {
                append.events.iter_mut().for_each(|event| event.metadata = Metadata::default());
            }
            Flaw::BytesAsText => append.events.iter_mut().for_each(|event| {
                if let Body::Bytes(bytes) = &event.body {
                    event.body = Body::Text(format!("\"{bytes:02x?}\""));
                }
            }),
            _ => {}
        }
        append
    }
}

/// A number that nothing else has.
fn rand() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    u128::from(RandomState::new().hash_one(0)) << 64 | u128::from(RandomState::new().hash_one(1))
}

fn done(answer: &AppendAnswer) -> bool {
    matches!(answer, AppendAnswer::Appended(_))
}

#[async_trait]
impl EventStore for Broken {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        self.notices(append);
        let limits = match self.flaw {
            Flaw::LimitsIgnored => Limits { payload: usize::MAX },
            _ => *limits,
        };
        let changed = self.changed(append);
        if let (Flaw::MarkBesides, Some(mark)) = (self.flaw, append.mark.clone()) {
            let only = Append::new(append.stream.clone(), Expected::Any, Vec::new()).with_mark(mark);
            let answer = EventStore::append(&self.inner, &only, &limits).await?;
            if !done(&answer) || (append.events.is_empty() && append.dispatches.is_empty()) {
                return Ok(answer);
            }
        }
        let nothing = changed.events.is_empty() && changed.dispatches.is_empty() && changed.mark.is_none();
        let answer = if nothing && !append.dispatches.is_empty() {
            let version = self.read_stream(&StreamRead::backward(append.stream.clone(), 1)).await?.version;
            let position = None;
            Ok(AppendAnswer::Appended(tenure_core::event::Appended { version, position, repeated: false }))
        } else {
            EventStore::append(&self.inner, &changed, &limits).await
        };
        match (self.flaw, answer) {
            (Flaw::OtherContentIgnored, Err(AppendError::Problem(AppendProblem::OtherContent { .. }))) => {
                let read = StreamRead::backward(append.stream.clone(), 1);
                Ok(AppendAnswer::Conflict { actual: self.inner.read_stream(&read).await?.version })
            }
            (Flaw::DispatchesBesides | Flaw::RetrySends, Ok(answer)) if done(&answer) => {
                let payloads = tenure_core::outbox::Limits { payload: limits.payload };
                let again = matches!(&answer, AppendAnswer::Appended(appended) if appended.repeated);
                if self.flaw == Flaw::DispatchesBesides || again {
                    self.inner.enqueue(&append.dispatches, &payloads).await.map_err(|error| match error {
                        tenure_core::contract::EnqueueError::Message(error) => AppendError::Dispatch(error),
                        other => panic!("a memory store has no other errors: {other}"),
                    })?;
                }
                Ok(answer)
            }
            (_, answer) => answer,
        }
    }

    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        let mut read = StreamRead { stream: self.folded(&read.stream), ..read.clone() };
        match self.flaw {
            Flaw::FromIgnored => read.from = None,
            Flaw::BackwardIgnored => read.direction = Direction::Forward,
            Flaw::PageLimitIgnored => read.limit = 10_000,
            _ => {}
        }
        let mut page = match self.inner.read_stream(&read).await {
            Err(_) if self.flaw == Flaw::StreamWithoutDamaged => {
                let mut events = self.inner.read_all(Position::START, 10_000).await?.events;
                events.retain(|event| event.stream == read.stream);
                let version = events.last().map_or(Version::NONE, |event| event.version);
                StreamPage { events, version }
            }
            page => page?,
        };
        if self.flaw == Flaw::VersionOfPage {
            page.version = page.events.last().map_or(Version::NONE, |event| event.version);
        }
        Ok(page)
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        let (after_, limit) = match self.flaw {
            Flaw::ReadsTwice => (Position(after.0 - 1), limit),
            Flaw::PageLimitIgnored => (after, 10_000),
            _ => (after, limit),
        };
        let mut page = self.inner.read_all(after_, limit).await?;
        match self.flaw {
            Flaw::HorizonIgnored => {
                page.events = self.committed(after).await?;
                page.events.truncate(limit as usize);
                let full = page.events.last().filter(|_| page.events.len() == limit as usize);
                page.read_to = full.map_or(page.head.max(after), |event| event.position);
                page.stall = None;
            }
            Flaw::DamageIsFatal => {
                if let Some(row) = page.unreadable.first() {
                    let (store, message) = ("broken".into(), row.to_string());
                    return Err(StoreError::Corrupt { store, message });
                }
            }
            Flaw::DamagePassedOver => page.unreadable.clear(),
            Flaw::PageEndsAtHead => page.read_to = page.head,
            Flaw::AheadUntold => page.read_to = page.read_to.max(after),
            _ => {}
        }
        Ok(page)
    }

    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        match self.flaw {
            Flaw::SnapshotOverwrites => {
                Ok(self.notes.snapshots.lock().expect("no note panics").get(stream).cloned())
            }
            _ => self.inner.load_snapshot(stream).await,
        }
    }

    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mine = snapshot.clone();
        self.notes.snapshots.lock().expect("no note panics").insert(snapshot.stream.clone(), mine);
        let there = self.inner.load_snapshot(&snapshot.stream).await?;
        let same = there.is_some_and(|there| there.version == snapshot.version);
        if self.flaw == Flaw::SnapshotOnlyNewer && same {
            return Ok(());
        }
        self.inner.save_snapshot(snapshot).await
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        match self.flaw {
            Flaw::NeverWoken => Ok(Some(Arc::new(Deaf))),
            _ => self.inner.watch().await,
        }
    }
}

#[derive(Debug)]
struct Deaf;

#[async_trait]
impl Wakeup for Deaf {
    fn arm(&self, _: bool) {}

    async fn hint(&self) -> Result<(), StoreError> {
        std::future::pending().await
    }
}

#[async_trait]
impl CheckpointStore for Broken {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        self.inner.checkpoint(name).await
    }

    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        let (mut office, mut step) = (office, step.clone());
        match self.flaw {
            Flaw::StepUnfenced => office = None,
            Flaw::ParkedForgotten => step.parked.clear(),
            Flaw::RewindsIgnored => step.rewinds = self.inner.checkpoint(&step.name).await?.rewinds,
            Flaw::StepsBack if step.to < step.from => return Ok(Advance::Advanced),
            _ => {}
        }
        self.inner.advance(office, &step).await
    }

    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        self.inner.subscriptions(after, limit).await
    }

    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        self.inner.parked(name, after, limit).await
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        let parked = self.inner.parked(name, None, 10_000).await?;
        let rewound = self.inner.rewind(name, to, by).await?;
        if self.flaw == Flaw::RewindBeyondTheEnd && rewound != Rewind::Moved {
            let Checkpoint { position: from, rewinds } = self.inner.checkpoint(name).await?;
            let step = Step { name: name.clone(), from, rewinds, to, parked: Vec::new() };
            let _ = self.inner.advance(None, &step).await?;
        }
        if self.flaw == Flaw::RewindKeepsParked {
            let parked = parked.into_iter().map(|parked| parked.aside).collect();
            let (name, rewinds) = (name.clone(), self.inner.checkpoint(name).await?.rewinds);
            let _ = self.inner.advance(None, &Step { name, from: to, rewinds, to, parked }).await?;
        }
        Ok(rewound)
    }
}
