//! The registry at work: it shows who holds what, and never stands in the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, SessionLocks};
use tenure::core::lease::{LeaseRecord, Term};
use tenure::core::memory::MemoryStore;
use tenure::core::registry::{Entry, Recorded, Touched};
use tenure::{
    Classifier, LeaseLocks, LeaseName, Leases, Recorder, RecorderOptions, RecordingLeases, RecordingLocks,
    SteadyStoreClock, StoreError, local_node,
};

use crate::faulty::{Faulty, quick};

fn name(text: &str) -> LeaseName {
    LeaseName::new(text).unwrap()
}

fn memory() -> MemoryStore {
    MemoryStore::new(Arc::new(SteadyStoreClock::start()))
}

fn options(stale_after: Duration) -> RecorderOptions {
    RecorderOptions { stale_after, ..RecorderOptions::default() }
}

/// Locks granted elsewhere (a store of their own), recorded in `registry`.
fn recorded(
    granting: &Arc<Faulty>,
    registry: &MemoryStore,
    node: &str,
    stale_after: Duration,
) -> RecordingLocks {
    let recorder =
        Recorder::start(Arc::new(registry.clone()), local_node(Some(node)).unwrap(), options(stale_after));
    RecordingLocks::new(Arc::new(LeaseLocks::new(granting.node(node), quick())), recorder)
}

async fn row(registry: &MemoryStore, lock: &str) -> Option<LeaseRecord> {
    registry.observe(&name(lock)).await.unwrap()
}

/// Recording happens in the background: waits until the row is as wanted.
async fn row_where(registry: &MemoryStore, lock: &str, wanted: impl Fn(&LeaseRecord) -> bool) -> LeaseRecord {
    let look = async {
        loop {
            if let Some(row) = row(registry, lock).await.filter(|row| wanted(row)) {
                return row;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), look).await.expect("the row never looked like that")
}

#[tokio::test]
async fn a5_a8_a10_a_lock_is_recorded_stamped_on_release_and_losers_leave_no_row() {
    let (granting, registry) = (Faulty::new(true), memory());
    let (a, b) = (
        recorded(&granting, &registry, "a", Duration::from_secs(60)),
        recorded(&granting, &registry, "b", Duration::from_secs(60)),
    );
    let lock = a.try_lock(&name("outbox-orders")).await.unwrap().unwrap();
    let recorded = row_where(&registry, "outbox-orders", |_| true).await;
    assert_eq!((recorded.node.name.as_str(), recorded.kind.as_deref()), ("a", Some("outbox")));
    assert_eq!((recorded.node.pid, recorded.backend.as_str()), (std::process::id(), "lease"));
    assert!(!recorded.node.machine.is_empty() && recorded.released_at.is_none());
    assert!(b.try_lock(&name("outbox-orders")).await.unwrap().is_none());
    assert_eq!(row(&registry, "outbox-orders").await.unwrap().node.name.as_str(), "a");
    lock.unlock().await.unwrap();
    let released = row_where(&registry, "outbox-orders", |row| row.released_at.is_some()).await;
    assert_eq!(released.term, Term::FIRST, "stamped, not deleted");
    let lock = b.try_lock(&name("outbox-orders")).await.unwrap().unwrap();
    let taken = row_where(&registry, "outbox-orders", |row| row.node.name.as_str() == "b").await;
    assert_eq!(taken.term.get(), 2, "terms of recorded holdings rise");
    assert!(lock.is_held());
}

#[tokio::test]
async fn a8_a_holder_that_keeps_its_lock_is_renewed_and_never_swept() {
    let (granting, registry) = (Faulty::new(true), memory());
    let locks = recorded(&granting, &registry, "a", Duration::from_millis(300));
    let _lock = locks.try_lock(&name("x")).await.unwrap().unwrap();
    let first = row_where(&registry, "x", |_| true).await;
    // passes time: several times what makes a row stale, with sweeps in between
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let later = row(&registry, "x").await.unwrap();
    assert!(later.released_at.is_none() && later.renewed_at > first.renewed_at);
    assert_eq!(later.term, first.term);
}

#[tokio::test]
async fn a3_rows_of_holders_that_are_gone_are_swept() {
    let registry = memory();
    let entry = Entry {
        name: name("x"),
        node: local_node(Some("gone")).unwrap(),
        claim: tenure::core::id::Unique::from_u128(7),
        backend: "session".into(),
        kind: None,
        origin: None,
    };
    registry.record(&entry, Duration::from_millis(100)).await.unwrap();
    let recorder = Recorder::start(
        Arc::new(registry.clone()),
        local_node(Some("b")).unwrap(),
        options(Duration::from_millis(100)),
    );
    row_where(&registry, "x", |row| row.released_at.is_some()).await;
    drop(recorder);
}

#[tokio::test]
async fn a4_a_holding_can_be_recorded_without_intercepting_the_provider() {
    let registry = memory();
    let recorder = Recorder::start(
        Arc::new(registry.clone()),
        local_node(Some("a")).unwrap(),
        RecorderOptions::default(),
    );
    let recording = recorder.taken(&name("mine"), "zookeeper");
    let row = row_where(&registry, "mine", |_| true).await;
    assert_eq!(row.backend, "zookeeper");
    while recording.fence().is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(registry.check(&recording.fence().unwrap()), tenure::core::lease::FenceCheck::Holds);
    recording.released().await;
    row_where(&registry, "mine", |row| row.released_at.is_some()).await;
}

/// Law 2: a holder whom another one has replaced must not write itself back, with the highest term.
#[tokio::test]
async fn a_deposed_recording_does_not_take_office_again() {
    let registry = memory();
    let recorder = |node: &str| {
        Recorder::start(
            Arc::new(registry.clone()),
            local_node(Some(node)).unwrap(),
            options(Duration::from_millis(90)),
        )
    };
    let (old, new) = (recorder("old"), recorder("new"));
    let _deposed = old.taken(&name("x"), "session");
    row_where(&registry, "x", |row| row.node.name.as_str() == "old").await;
    let present = new.taken(&name("x"), "session");
    row_where(&registry, "x", |row| row.node.name.as_str() == "new").await;
    // passes time: many touches of both
    tokio::time::sleep(Duration::from_millis(600)).await;
    let fence = present.fence().expect("the present holder has a fence");
    assert_eq!(fence.term.get(), 2);
    assert_eq!(registry.check(&fence), tenure::core::lease::FenceCheck::Holds);
}

#[tokio::test]
async fn a_holding_that_is_over_shows_no_fence_and_is_stamped() {
    let registry = memory();
    let recorder = Recorder::start(
        Arc::new(registry.clone()),
        local_node(Some("a")).unwrap(),
        options(Duration::from_millis(90)),
    );
    let held = Arc::new(AtomicBool::new(true));
    let alive = held.clone();
    let recording = recorder.taken_while(&name("x"), "session", move || alive.load(Ordering::SeqCst));
    row_where(&registry, "x", |_| true).await;
    held.store(false, Ordering::SeqCst);
    assert!(recording.fence().is_none());
    row_where(&registry, "x", |row| row.released_at.is_some()).await;
}

#[tokio::test]
async fn a6_the_classifier_is_the_users() {
    let registry = memory();
    let classifier = Classifier::new(|name| Some(name.len().to_string()));
    let options = RecorderOptions { classifier, ..RecorderOptions::default() };
    let recorder = Recorder::start(Arc::new(registry.clone()), local_node(Some("a")).unwrap(), options);
    let _recording = recorder.taken(&name("four"), "x");
    assert_eq!(row_where(&registry, "four", |_| true).await.kind.as_deref(), Some("4"));
}

#[tokio::test]
async fn recording_wraps_any_lease_store() {
    let (granting, registry) = (Faulty::new(true), memory());
    let recorder = Recorder::start(
        Arc::new(registry.clone()),
        local_node(Some("a")).unwrap(),
        RecorderOptions::default(),
    );
    let leases = Leases::new(
        Arc::new(RecordingLeases::new(granting.clone(), recorder)),
        local_node(Some("a")).unwrap(),
    );
    let lease = leases.lease("job", quick()).unwrap();
    lease.acquire().await.unwrap();
    row_where(&registry, "job", |row| row.released_at.is_none()).await;
    lease.release().await.unwrap();
    row_where(&registry, "job", |row| row.released_at.is_some()).await;
}

/// A registry that fails, or hangs.
#[derive(Debug, Default)]
struct Broken {
    hangs: AtomicBool,
}

impl Broken {
    async fn fail<T>(&self) -> Result<T, StoreError> {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Err(StoreError::SchemaMissing { store: "broken".into() })
    }
}

#[async_trait]
impl LeaseRegistry for Broken {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.fail().await
    }
    async fn record(&self, _: &Entry, _: Duration) -> Result<Recorded, StoreError> {
        self.fail().await
    }
    async fn touch(&self, _: &Entry, _: Term, _: Duration) -> Result<Touched, StoreError> {
        self.fail().await
    }
    async fn stamp_released(&self, _: &Entry, _: Term) -> Result<bool, StoreError> {
        self.fail().await
    }
    async fn sweep(&self) -> Result<u64, StoreError> {
        self.fail().await
    }
}

#[tokio::test]
async fn a9_a_broken_or_hanging_registry_never_blocks_a_lock() {
    for hangs in [false, true] {
        let registry = Arc::new(Broken { hangs: AtomicBool::new(hangs) });
        let recorder = Recorder::start(registry, local_node(Some("a")).unwrap(), RecorderOptions::default());
        let granting = Faulty::new(true);
        let locks = RecordingLocks::new(Arc::new(LeaseLocks::new(granting.node("a"), quick())), recorder);
        let work = async {
            for _ in 0..2 {
                let lock = locks.try_lock(&name("x")).await.unwrap().unwrap();
                assert!(lock.is_held());
                lock.unlock().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(8), work).await.expect("the registry held the lock up");
    }
}

#[tokio::test]
async fn a11_a_single_instance_works_without_a_registry() {
    let store = Faulty::new(true);
    let locks = LeaseLocks::new(store.node("alone"), quick());
    assert!(locks.try_lock(&name("x")).await.unwrap().unwrap().is_held());
    let (leases, _) = store.inner.list(&tenure_core::lease::LeasePageOf::first(10)).await.unwrap();
    assert_eq!(leases.len(), 1, "a lease is its own entry");
}
