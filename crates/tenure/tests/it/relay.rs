//! The relay over the in-memory outbox: order, retries, deadlines, drain, offices.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure::core::contract::{LeaseAdmin, OutboxAdmin, OutboxStore, Sink};
use tenure::core::id::NodeName;
use tenure::core::lease::Fence;
use tenure::core::memory::MemoryStore;
use tenure::core::outbox::{
    Body, DeadWalk, Filter, Limits, Loaded, Look, Message, NewMessage, Outcome, Page, Recorded, Retention,
    RowId, Selection, State, Stats, Swept,
};
use tenure::{
    LeaseName, LeaseSettings, Leases, OnDead, Relay, RelaySettings, RetryPolicy, Role, SteadyStoreClock,
    Stop, StoreError, Verdict, local_node,
};

/// What the sink does with the n-th delivery (from 1) of a message.
type Script = dyn Fn(&Message, u32) -> Act + Send + Sync;

enum Act {
    Say(Verdict),
    Hang,
    Panic,
    After(Duration, Verdict),
}

struct Scripted {
    script: Box<Script>,
    seen: Mutex<Vec<(Option<String>, String, u32)>>,
    tries: Mutex<HashMap<String, u32>>,
    let_go: tokio::sync::Notify,
    batch: usize,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    fn new(script: impl Fn(&Message, u32) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Self::with_batch(1, script)
    }

    fn with_batch(batch: usize, script: impl Fn(&Message, u32) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            seen: Mutex::default(),
            tries: Mutex::default(),
            let_go: tokio::sync::Notify::new(),
            batch,
        })
    }

    fn accepting() -> Arc<Self> {
        Self::new(|_, _| Act::Say(Verdict::Accepted))
    }

    /// The payloads that were delivered, in order, each as often as it was.
    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|(_, payload, _)| payload.clone()).collect()
    }

    fn of(&self, source: &str) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(from, ..)| from.as_deref() == Some(source)).map(|(_, p, _)| p.clone()).collect()
    }
}

#[async_trait]
impl Sink for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn batch_size(&self) -> usize {
        self.batch
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        let Body::Text(payload) = &message.body else { return Verdict::rejected("bytes") };
        let payload = payload.chars().take(20).collect::<String>();
        let count = {
            let mut tries = self.tries.lock().unwrap();
            let count = tries.entry(payload.clone()).or_default();
            *count += 1;
            *count
        };
        self.seen.lock().unwrap().push((message.source.clone(), payload, message.attempt));
        match (self.script)(message, count) {
            Act::Say(verdict) => verdict,
            Act::After(span, verdict) => {
                tokio::time::sleep(span).await; // passes time: a slow receiver
                verdict
            }
            Act::Panic => panic!("as told"),
            Act::Hang => {
                self.let_go.notified().await;
                Verdict::Accepted
            }
        }
    }
}

/// Counts what a relay asks of its store, and can be made to fail.
#[derive(Debug)]
struct Counting {
    inner: MemoryStore,
    looks: AtomicU64,
    down: AtomicBool,
    /// So many records take effect, and their answers are lost.
    lose_records: AtomicU64,
}

impl Counting {
    fn check(&self) -> Result<(), StoreError> {
        match self.down.load(Ordering::SeqCst) {
            true => Err(StoreError::Unreachable { store: "test".into(), message: "it is down".into() }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl OutboxStore for Counting {
    async fn enqueue(
        &self,
        messages: &[NewMessage],
        limits: &Limits,
    ) -> Result<Vec<tenure::core::outbox::Enqueued>, tenure::core::contract::EnqueueError> {
        self.inner.enqueue(messages, limits).await
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        self.inner.look(look).await
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        self.check()?;
        self.inner.load(id, limits).await
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        self.check()?;
        let recorded = self.inner.record(office, node, outcomes).await;
        let lose =
            self.lose_records.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match lose {
            Ok(_) => {
                Err(StoreError::Unreachable { store: "test".into(), message: "the answer was lost".into() })
            }
            Err(_) => recorded,
        }
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        self.inner.sweep(office, retention, resume).await
    }
}

struct Stage {
    store: MemoryStore,
    counting: Arc<Counting>,
    settings: RelaySettings,
}

impl Stage {
    fn new() -> Self {
        let store = MemoryStore::new(Arc::new(SteadyStoreClock::start()));
        let counting = Arc::new(Counting {
            inner: store.clone(),
            looks: AtomicU64::new(0),
            down: AtomicBool::new(false),
            lose_records: AtomicU64::new(0),
        });
        let settings = RelaySettings {
            retry: RetryPolicy {
                max_attempts: 3,
                first: Duration::from_millis(20),
                cap: Duration::from_millis(50),
            },
            deadline: Duration::from_millis(200),
            drain: Duration::from_millis(500),
            poll_without_wakeup: Duration::from_millis(50),
            ..RelaySettings::default()
        };
        Self { store, counting, settings }
    }

    async fn send(&self, source: Option<&str>, payloads: &[&str]) {
        let messages: Vec<_> = payloads
            .iter()
            .map(|payload| {
                let message = NewMessage::new("t", "k", Body::Text((*payload).into()));
                source.map_or(message.clone(), |source| message.from_source(source))
            })
            .collect();
        self.store.enqueue(&messages, &Limits::default()).await.unwrap();
    }

    fn relay(&self, sink: Arc<Scripted>) -> Relay {
        let node = NodeName::new("n1").unwrap();
        Relay::new(self.counting.clone(), sink, node, self.settings.clone()).unwrap()
    }

    fn leases(&self, node: &str) -> Leases {
        Leases::new(Arc::new(self.store.clone()), local_node(Some(node)).unwrap())
    }

    async fn stats(&self) -> Stats {
        self.store.stats().await.unwrap()
    }

    /// Waits until the numbers are so, or fails.
    async fn until(&self, what: &str, holds: impl Fn(&Stats) -> bool) {
        let began = Instant::now();
        loop {
            let stats = self.stats().await;
            if holds(&stats) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{what}: {stats:?}");
            tokio::time::sleep(Duration::from_millis(5)).await; // passes time: between two looks
        }
    }
}

fn start(relay: &Relay) -> (Stop, tokio::task::JoinHandle<()>) {
    let (stop, relay) = (Stop::new(), relay.clone());
    let theirs = stop.clone();
    (stop, tokio::spawn(async move { relay.run(&theirs).await.unwrap() }))
}

#[tokio::test]
async fn b13_order_within_a_source_is_kept_through_retries() {
    let stage = Stage::new();
    let names: Vec<_> = (0..40).map(|n| format!("{n:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    stage.send(Some("a"), &names).await;
    stage.send(Some("b"), &["b1", "b2"]).await;
    // Every seventh fails twice.
    let sink = Scripted::new(|message, count| match &message.body {
        Body::Text(text) if text.parse::<u32>().is_ok_and(|n| n % 7 == 0) && count < 3 => {
            Act::Say(Verdict::transient("not now"))
        }
        _ => Act::Say(Verdict::Accepted),
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("all is dispatched", |stats| stats.dispatched == 42).await;
    stop.stop();
    running.await.unwrap();
    let mut order = sink.of("a");
    order.dedup();
    assert_eq!(order, names, "nothing overtakes a message that is tried again");
    assert_eq!(sink.of("b"), ["b1", "b2"]);
}

#[tokio::test]
async fn s44_a_failing_source_slows_nobody() {
    let stage = Stage::new();
    stage.send(Some("bad"), &["x1", "x2"]).await;
    stage.send(Some("good"), &["g1", "g2", "g3"]).await;
    stage.send(None, &["u1", "u2"]).await;
    let sink = Scripted::new(|message, _| match message.source.as_deref() {
        Some("bad") => Act::Say(Verdict::transient("never")),
        _ => Act::Say(Verdict::Accepted),
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage
        .until("the bad ones are dead, the others done", |stats| stats.dead == 2 && stats.dispatched == 5)
        .await;
    stop.stop();
    running.await.unwrap();
    assert_eq!(sink.of("bad"), ["x1", "x1", "x1", "x2", "x2", "x2"], "three attempts each, in order");
    let filter = Filter { state: Some(State::Dead), ..Filter::default() };
    let dead = OutboxAdmin::list(&stage.store, &Selection { filter, limit: 10, ..Default::default() })
        .await
        .unwrap()
        .messages;
    assert_eq!(dead[0].last_error.as_deref(), Some("gave up after 3 attempts: never"));
}

#[tokio::test]
async fn s45_a_halted_source_waits_for_an_operator() {
    let mut stage = Stage::new();
    stage.settings.on_dead = OnDead::Halt;
    stage.send(Some("a"), &["a1", "a2"]).await;
    stage.send(Some("b"), &["b1"]).await;
    let sink = Scripted::new(|message, count| match &message.body {
        Body::Text(text) if text == "a1" && count == 1 => Act::Say(Verdict::rejected("malformed")),
        _ => Act::Say(Verdict::Accepted),
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("b is done, a stands still", |stats| stats.dead == 1 && stats.dispatched == 1).await;
    assert_eq!(sink.of("a"), ["a1"]);
    let filter = Filter { state: Some(State::Dead), ..Filter::default() };
    assert_eq!(stage.store.retry(&DeadWalk::of(filter.clone(), 10), "ada").await.unwrap().ids.len(), 1);
    stage.until("a goes on in order", |stats| stats.dispatched == 3).await;
    stop.stop();
    running.await.unwrap();
    assert_eq!(sink.of("a"), ["a1", "a1", "a2"]);
}

#[tokio::test]
async fn s48_a_sink_that_hangs_costs_an_attempt_and_blocks_nobody() {
    let stage = Stage::new();
    stage.send(Some("slow"), &["s1", "s2"]).await;
    stage.send(None, &["u1"]).await;
    let sink = Scripted::new(|message, count| match &message.body {
        Body::Text(text) if text == "s1" && count == 1 => Act::Hang,
        _ => Act::Say(Verdict::Accepted),
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("all is dispatched", |stats| stats.dispatched == 3).await;
    assert_eq!(sink.of("slow"), ["s1", "s1", "s2"]);
    assert_eq!(relay.status().transient, 1);
    sink.let_go.notify_waiters();
    stop.stop();
    running.await.unwrap();
}

#[tokio::test]
async fn a_sink_that_panics_costs_an_attempt_and_nothing_else() {
    let stage = Stage::new();
    stage.send(Some("p"), &["p1", "p2"]).await;
    let sink = Scripted::new(|message, count| match &message.body {
        Body::Text(text) if text == "p1" && count == 1 => Act::Panic,
        _ => Act::Say(Verdict::Accepted),
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("all is dispatched", |stats| stats.dispatched == 2).await;
    stop.stop();
    running.await.unwrap();
    assert_eq!(sink.of("p"), ["p1", "p1", "p2"]);
}

#[tokio::test]
async fn a_shutdown_lets_deliveries_end_and_burns_no_attempt() {
    let mut stage = Stage::new();
    stage.settings.deadline = Duration::from_secs(10);
    stage.settings.drain = Duration::from_millis(300);
    stage.send(Some("quick"), &["q1", "q2"]).await;
    stage.send(Some("stuck"), &["s1"]).await;
    let sink = Scripted::new(|message, _| match message.source.as_deref() {
        Some("quick") => Act::After(Duration::from_millis(100), Verdict::Accepted),
        _ => Act::Hang,
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    while sink.seen().len() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await; // passes time: until both are under way
    }
    stop.stop();
    running.await.unwrap();
    let stats = stage.stats().await;
    assert_eq!((stats.dispatched, stats.pending, stats.retrying), (1, 2, 0), "{stats:?}");
    assert_eq!(sink.of("quick"), ["q1"], "nothing new is begun");
}

#[tokio::test]
async fn d3_a_standby_reads_no_rows_and_takes_over_in_order() {
    let stage = Stage::new();
    let sink = Scripted::accepting();
    let lease = |node: &str| stage.leases(node).lease("outbox", LeaseSettings::default()).unwrap();
    let leader = stage.relay(sink.clone()).exclusive(lease("n1"));
    let (stop, running) = start(&leader);
    stage.send(Some("a"), &["a1"]).await;
    stage.until("the leader works", |stats| stats.dispatched == 1).await;
    let standby_store = Arc::new(Counting {
        inner: stage.store.clone(),
        looks: AtomicU64::new(0),
        down: AtomicBool::new(false),
        lose_records: AtomicU64::new(0),
    });
    let node = NodeName::new("n2").unwrap();
    let standby = Relay::new(standby_store.clone(), sink.clone(), node, stage.settings.clone()).unwrap();
    let standby = standby.exclusive(lease("n2"));
    let (standby_stop, standby_running) = start(&standby);
    let began = Instant::now();
    while standby.status().role != Role::Standby {
        assert!(began.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(2)).await; // passes time: until it stands by
    }
    stage.send(Some("a"), &["a2", "a3"]).await;
    stage.until("the leader works", |stats| stats.dispatched == 3).await;
    assert_eq!(standby_store.looks.load(Ordering::SeqCst), 0);
    stop.stop();
    running.await.unwrap();
    stage.send(Some("a"), &["a4"]).await;
    stage.until("the standby took over", |stats| stats.dispatched == 4).await;
    assert!(matches!(standby.status().role, Role::Leading { term: 2 }), "{:?}", standby.status());
    standby_stop.stop();
    standby_running.await.unwrap();
    assert_eq!(sink.of("a"), ["a1", "a2", "a3", "a4"]);
}

#[tokio::test]
async fn s41_a_relay_that_was_deposed_changes_no_row() {
    let mut stage = Stage::new();
    stage.settings.deadline = Duration::from_secs(10);
    let sink = Scripted::new(|_, count| match count {
        1 => Act::After(Duration::from_millis(300), Verdict::rejected("as the deposed one saw it")),
        _ => Act::Say(Verdict::Accepted),
    });
    let lease = stage.leases("n1").lease("outbox", LeaseSettings::default()).unwrap();
    let relay = stage.relay(sink.clone()).exclusive(lease);
    stage.send(Some("a"), &["a1"]).await;
    let (stop, running) = start(&relay);
    while sink.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await; // passes time: until it is under way
    }
    // While the delivery is under way, an operator has the relay out of office, and it comes back under the next term.
    stage.store.revoke(&LeaseName::new("outbox").unwrap(), "ada", true).await.unwrap();
    stage.until("delivered under the next term", |stats| stats.dispatched == 1).await;
    stop.stop();
    running.await.unwrap();
    assert_eq!(stage.stats().await.dead, 0, "the verdict of the deposed relay was refused");
    assert_eq!(sink.seen().len(), 2);
}

#[tokio::test]
async fn s40_a_record_whose_answer_was_lost_delivers_nothing_twice() {
    let stage = Stage::new();
    stage.counting.lose_records.store(2, Ordering::SeqCst);
    stage.send(Some("a"), &["a1", "a2", "a3"]).await;
    let sink = Scripted::accepting();
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("all is dispatched", |stats| stats.dispatched == 3).await;
    stop.stop();
    running.await.unwrap();
    assert_eq!(sink.of("a"), ["a1", "a2", "a3"]);
}

#[tokio::test]
async fn s75_a_store_that_goes_away_is_ridden_out() {
    let stage = Stage::new();
    stage.counting.down.store(true, Ordering::SeqCst);
    stage.send(None, &["u1"]).await;
    let sink = Scripted::accepting();
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    while relay.status().trouble.is_none() {
        tokio::time::sleep(Duration::from_millis(2)).await; // passes time: until it has noticed
    }
    stage.counting.down.store(false, Ordering::SeqCst);
    stage.until("all is dispatched", |stats| stats.dispatched == 1).await;
    assert_eq!(relay.status().trouble, None);
    stop.stop();
    running.await.unwrap();
}

#[tokio::test]
async fn large_payloads_are_loaded_when_their_turn_has_come() {
    let stage = Stage::new();
    let large = "x".repeat(300_000);
    stage.send(Some("a"), &[&large, "small"]).await;
    let sink = Scripted::accepting();
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("all is dispatched", |stats| stats.dispatched == 2).await;
    stop.stop();
    running.await.unwrap();
    assert_eq!(sink.of("a"), [&large[..20], "small"]);
}

#[tokio::test]
async fn a_sink_that_takes_batches_gets_them_in_order() {
    let stage = Stage::new();
    let names: Vec<_> = (0..100).map(|n| format!("{n:03}")).collect();
    stage.send(Some("a"), &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let sink = Scripted::with_batch(16, |message, count| match &message.body {
        Body::Text(text) if text == "050" && count == 1 => Act::Say(Verdict::transient("not now")),
        _ => Act::Say(Verdict::Accepted),
    });
    let relay = stage.relay(sink.clone());
    let (stop, running) = start(&relay);
    stage.until("all is dispatched", |stats| stats.dispatched == 100).await;
    stop.stop();
    running.await.unwrap();
    let mut order = sink.of("a");
    order.dedup();
    assert_eq!(order, names);
    assert_eq!(relay.status().transient, 1);
}

#[tokio::test]
async fn s41_a_lease_of_another_store_is_refused_before_anything_is_delivered() {
    let (here, elsewhere) = (crate::bank::database(), crate::bank::database());
    here.outbox().enqueue(&[NewMessage::json("t", "k", "{}")], &Limits::default()).await.unwrap();
    let sink = Scripted::new(|_, _| Act::Say(Verdict::Accepted));
    let node = local_node(Some("n")).unwrap();
    let lease =
        Leases::new(elsewhere.leases(), node.clone()).lease("outbox", LeaseSettings::default()).unwrap();
    let relay = Relay::new(here.outbox(), sink.clone(), node.name, RelaySettings::default()).unwrap();
    let error = relay.exclusive(lease).run(&Stop::new()).await.unwrap_err().to_string();
    assert!(error.contains("kept in another store"), "{error}");
    assert!(sink.seen.lock().unwrap().is_empty());
}
