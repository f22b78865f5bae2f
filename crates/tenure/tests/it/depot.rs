//! What relays of one process share: one listener, and one bound on deliveries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::contract::{EnqueueError, OutboxStore, Wakeup};
use tenure::core::id::NodeName;
use tenure::core::lease::Fence;
use tenure::core::outbox::{
    Enqueued, Limits, Loaded, Look, NewMessage, Outcome, Page, Recorded, Retention, RowId, Swept,
};
use tenure::{Depot, Lease, Left, Part, RelaySettings, RetryPolicy, StoreError};

use crate::bank::database;
use crate::parts::{Notebook, Registrar, Running, fill, quick, run, text, until, until_pending};

/// Counts who listens to it.
#[derive(Debug)]
struct Heard {
    inner: Arc<dyn OutboxStore>,
    listens: AtomicUsize,
}

impl Heard {
    fn listens(&self) -> usize {
        self.listens.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl OutboxStore for Heard {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        self.inner.enqueue(messages, limits).await
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        self.inner.look(look).await
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        self.inner.load(id, limits).await
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        self.inner.record(office, node, outcomes).await
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        self.inner.sweep(office, retention, resume).await
    }

    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        self.listens.fetch_add(1, Ordering::SeqCst);
        self.inner.listen().await
    }
}

async fn all_parts(
    depot: &Depot,
    sink: &Arc<Notebook>,
    registrar: &Registrar,
    settings: &RelaySettings,
) -> Vec<(Running, Lease)> {
    let mut running = Vec::new();
    for part in Part::all(4).unwrap() {
        let (lease, mandate, _) = registrar.grants(&format!("part-{}", part.index())).await;
        let settings = RelaySettings { part: Some(part), ..settings.clone() };
        running.push((run(depot, sink, settings, mandate), lease));
    }
    running
}

async fn end(running: Vec<(Running, Lease)>) {
    for (running, lease) in running {
        assert!(matches!(running.ends().await, Left::Stopped));
        lease.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_relays_of_one_process_listen_once_and_are_all_woken() {
    let database = database();
    let store = Arc::new(Heard { inner: database.outbox(), listens: AtomicUsize::new(0) });
    let depot = Depot::new(store.clone(), 16).unwrap();
    let (sink, registrar) = (Notebook::new(Duration::ZERO), Registrar::new(&database));
    // Nobody looks by itself while this test runs.
    let hour = Duration::from_secs(3600);
    let settings = RelaySettings { poll: hour, poll_without_wakeup: hour, ..quick(None) };
    assert_eq!(store.listens(), 0, "nobody works yet");
    let running = all_parts(&depot, &sink, &registrar, &settings).await;
    for round in 1..=3 {
        // Of every part there is something.
        let messages: Vec<_> =
            (0..40).map(|source| text(Some(&format!("s{source}")), &format!("{round}"))).collect();
        store.enqueue(&messages, &Limits::default()).await.unwrap();
        until("all parts were woken", || sink.count() == 40 * round).await;
        until_pending(&database, 0).await;
    }
    assert_eq!(store.listens(), 1, "one listener for four relays");
    end(running).await;
    let running = all_parts(&depot, &sink, &registrar, &settings).await;
    until("it is listened to again", || store.listens() > 1).await;
    assert_eq!(store.listens(), 2, "the first listener has ended with the last relay");
    end(running).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_relays_of_one_process_share_one_bound_on_deliveries() {
    let database = database();
    let (sink, registrar) = (Notebook::new(Duration::from_millis(2)), Registrar::new(&database));
    let expected = fill(&*database.outbox(), 40, 6).await;
    let depot = Depot::new(database.outbox(), 3).unwrap();
    let running = all_parts(&depot, &sink, &registrar, &quick(None)).await;
    until_pending(&database, 0).await;
    end(running).await;
    assert_eq!(sink.by_source(), expected);
    assert_eq!(sink.most.load(Ordering::SeqCst), 3, "as many as may be, and no more");
    assert_eq!(depot.free(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s48_late_deliveries_count_against_the_bound_of_the_process() {
    let database = database();
    let (sink, registrar) = (Notebook::hanging(), Registrar::new(&database));
    fill(&*database.outbox(), 20, 1).await;
    let depot = Depot::new(database.outbox(), 3).unwrap();
    let retry =
        RetryPolicy { max_attempts: 100, first: Duration::from_millis(10), cap: Duration::from_millis(10) };
    let settings = RelaySettings { deadline: Duration::from_millis(20), retry, ..quick(None) };
    let running = all_parts(&depot, &sink, &registrar, &settings).await;
    until("all hang", || sink.count() == 3).await;
    // passes time: several deadlines, at each of which another delivery could begin
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!((sink.count(), depot.free()), (3, 0), "nothing is begun beside those that hang");
    sink.release();
    until_pending(&database, 0).await;
    // Those that were late may end after what was made of their messages is recorded.
    until("all have landed", || depot.free() == 3).await;
    end(running).await;
    assert_eq!(sink.most.load(Ordering::SeqCst), 3);
    assert_eq!(depot.free(), 3);
}

#[tokio::test]
async fn a_relay_that_waits_for_its_turn_ends_when_it_is_asked_to() {
    let database = database();
    let (sink, registrar) = (Notebook::hanging(), Registrar::new(&database));
    database
        .outbox()
        .enqueue(&[text(Some("a"), "1"), text(Some("b"), "1")], &Limits::default())
        .await
        .unwrap();
    let depot = Depot::new(database.outbox(), 1).unwrap();
    let (_one, mandate, _) = registrar.grants("one").await;
    let hangs = run(&depot, &sink, quick(None), mandate);
    until("one delivery hangs", || sink.count() == 1).await;
    let (_two, mandate, _) = registrar.grants("two").await;
    let waits = run(&depot, &sink, quick(None), mandate);
    // passes time: it has read what is pending, and waits for its turn
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(matches!(waits.ends().await, Left::Stopped), "it has begun nothing");
    assert_eq!(sink.count(), 1);
    sink.release();
    until_pending(&database, 0).await;
    assert!(matches!(hangs.ends().await, Left::Stopped));
}
