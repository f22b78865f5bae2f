//! Several relays that drain one outbox, each a part, under rights that somebody else obtained.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure::core::contract::{OutboxStore, Sink};
use tenure::core::outbox::{Body, Limits, Message, NewMessage};
use tenure::{
    Acquired, Database, Depot, Lease, LeaseSettings, Leases, Left, Mandate, Part, Relay, RelayError,
    RelaySettings, Stop, Verdict, local_node,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::bank::database;
use crate::server::Place;

/// Notes what comes, and how much of it at once.
#[derive(Debug, Default)]
pub(crate) struct Notebook {
    pub(crate) came: Mutex<Vec<(Option<String>, String)>>,
    under_way: AtomicUsize,
    pub(crate) most: AtomicUsize,
    pub(crate) pause: Duration,
    /// While it is so, a delivery does not end before it is let go.
    pub(crate) hangs: AtomicBool,
    pub(crate) let_go: Notify,
}

impl Notebook {
    pub(crate) fn new(pause: Duration) -> Arc<Self> {
        Arc::new(Self { pause, ..Self::default() })
    }

    pub(crate) fn hanging() -> Arc<Self> {
        Arc::new(Self { hangs: AtomicBool::new(true), ..Self::default() })
    }

    pub(crate) fn count(&self) -> usize {
        self.came.lock().unwrap().len()
    }

    pub(crate) fn by_source(&self) -> BTreeMap<Option<String>, Vec<String>> {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (source, text) in self.came.lock().unwrap().iter() {
            all.entry(source.clone()).or_default().push(text.clone());
        }
        // What has no source has no order.
        all.entry(None).or_default().sort_unstable();
        all
    }

    /// Lets all go that hang, and those that come.
    pub(crate) fn release(&self) {
        self.hangs.store(false, Ordering::SeqCst);
        self.let_go.notify_waiters();
    }
}

#[async_trait]
impl Sink for Notebook {
    fn name(&self) -> &str {
        "notebook"
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        let at_once = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(at_once, Ordering::SeqCst);
        let text = String::from_utf8_lossy(message.body.as_bytes()).into_owned();
        self.came.lock().unwrap().push((message.source.clone(), text));
        let let_go = self.let_go.notified();
        if self.hangs.load(Ordering::SeqCst) {
            let_go.await;
        }
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await; // passes time: a receiver that is not the quickest
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        Verdict::Accepted
    }
}

pub(crate) fn text(source: Option<&str>, text: &str) -> NewMessage {
    let message = NewMessage::new("t", "k", Body::Text(text.into()));
    source.map_or(message.clone(), |source| message.from_source(source))
}

/// Messages of many sources and of none, and what a notebook then says.
pub(crate) async fn fill(
    store: &dyn OutboxStore,
    sources: u32,
    each: u32,
) -> BTreeMap<Option<String>, Vec<String>> {
    let mut expected: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    let mut messages = Vec::new();
    for number in 0..each {
        for source in 0..sources {
            let name = format!("s{source}");
            messages.push(text(Some(&name), &format!("{number:03}")));
            expected.entry(Some(name)).or_default().push(format!("{number:03}"));
        }
        messages.push(text(None, &format!("{number:03}")));
        expected.entry(None).or_default().push(format!("{number:03}"));
    }
    store.enqueue(&messages, &Limits::default()).await.unwrap();
    expected
}

pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await; // passes time: between two questions
    }
}

pub(crate) async fn until_pending(database: &Database, pending: u64) {
    let began = Instant::now();
    loop {
        let stats = database.outbox_admin().stats().await.unwrap();
        if stats.pending == pending {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{pending} pending: {stats:?}");
        tokio::time::sleep(Duration::from_millis(5)).await; // passes time: between two questions
    }
}

/// Holds rights, as a cluster does for its daemons.
pub(crate) struct Registrar {
    leases: Leases,
}

impl Registrar {
    pub(crate) fn new(database: &Database) -> Self {
        Self { leases: Leases::new(database.leases(), local_node(Some("registrar")).unwrap()) }
    }

    /// A right to `name`, with the lease behind it and the signal that it is over.
    pub(crate) async fn grants(&self, name: &str) -> (Lease, Mandate, Stop) {
        let lease = self.leases.lease(name, LeaseSettings::default()).unwrap();
        let Acquired::Granted(fence) = lease.acquire().await.unwrap() else { panic!("{name} is held") };
        let lost = Stop::new();
        (lease, Mandate::new(fence, lost.clone()), lost)
    }
}

pub(crate) fn quick(part: Option<Part>) -> RelaySettings {
    RelaySettings { part, poll_without_wakeup: Duration::from_millis(50), ..RelaySettings::default() }
}

pub(crate) struct Running {
    relay: Relay,
    pub(crate) stop: Stop,
    pub(crate) task: JoinHandle<Result<Left, RelayError>>,
}

pub(crate) fn run(depot: &Depot, sink: &Arc<Notebook>, settings: RelaySettings, mandate: Mandate) -> Running {
    let node = local_node(Some("n")).unwrap().name;
    let relay = depot.relay(sink.clone(), node, settings).unwrap();
    let stop = Stop::new();
    let (theirs, running) = (stop.clone(), relay.clone());
    Running { relay, stop, task: tokio::spawn(async move { running.run_under(&mandate, &theirs).await }) }
}

impl Running {
    pub(crate) async fn ends(self) -> Left {
        self.stop.stop();
        self.task.await.unwrap().unwrap()
    }
}

/// Four relays over one outbox: everything once, each source in its order.
async fn four_parts_deliver_everything_once_and_in_order(database: Database) {
    let registrar = Registrar::new(&database);
    let expected = fill(&*database.outbox(), 30, 20).await;
    let sink = Notebook::new(Duration::from_millis(1));
    let mut running = Vec::new();
    for part in Part::all(4).unwrap() {
        // Depots of their own, as in four processes.
        let depot = Depot::new(database.outbox(), 16).unwrap();
        let (lease, mandate, _) = registrar.grants(&format!("part-{}", part.index())).await;
        running.push((run(&depot, &sink, quick(Some(part)), mandate), lease));
    }
    until_pending(&database, 0).await;
    for (running, _lease) in running {
        assert!(running.relay.status().delivered > 0, "each part has something");
        assert!(matches!(running.ends().await, Left::Stopped));
    }
    assert_eq!(sink.by_source(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_four_relays_with_parts_deliver_everything_once_and_in_order() {
    four_parts_deliver_everything_once_and_in_order(database()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_four_relays_with_parts_deliver_everything_once_and_in_order_on_sqlite() {
    four_parts_on("sqlite").await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_four_relays_with_parts_deliver_everything_once_and_in_order_on_mariadb() {
    four_parts_on("mariadb").await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_four_relays_with_parts_deliver_everything_once_and_in_order_on_mysql() {
    four_parts_on("mysql").await;
}

async fn four_parts_on(name: &str) {
    let Some(place) = Place::of(name) else { return };
    four_parts_deliver_everything_once_and_in_order(place.open().await).await;
    place.clean().await;
}

/// The part goes from relay to relay: asked to end, ended, given back, taken by the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_a_part_that_is_handed_over_keeps_its_order() {
    let database = database();
    let registrar = Registrar::new(&database);
    let expected = fill(&*database.outbox(), 8, 60).await;
    let sink = Notebook::new(Duration::from_millis(1));
    let depot = Depot::new(database.outbox(), 16).unwrap();
    let settings = |index| RelaySettings { run: 4, ..quick(Part::new(index, 2).ok()) };
    // The other part stays where it is.
    let (other, mandate, _) = registrar.grants("part-1").await;
    let stays = run(&depot, &sink, settings(1), mandate);
    let mut terms = Vec::new();
    for turn in 0..6 {
        let (lease, mandate, _) = registrar.grants("part-0").await;
        terms.push(mandate.fence().term);
        let running = run(&depot, &sink, settings(0), mandate);
        let target = sink.count() + 40;
        let done = || sink.count() >= target.min(480) || turn == 5;
        until("some were delivered", done).await;
        if turn == 5 {
            until_pending(&database, 0).await;
        }
        assert!(matches!(running.ends().await, Left::Stopped));
        lease.release().await.unwrap();
    }
    assert!(terms.is_sorted() && terms.len() == 6, "{terms:?}");
    assert!(matches!(stays.ends().await, Left::Stopped));
    drop(other);
    assert_eq!(
        sink.by_source(),
        expected,
        "once each, for every relay had ended and recorded before the next began"
    );
}
