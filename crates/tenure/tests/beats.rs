//! What becomes of a loop's beat when the loop does not end by itself. In a process of its own: the list of loops is one for a
//! process, and other tests judge by it.

// Helpers outside of test functions may fail a test too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::StoreError;
use tenure::core::contract::{EnqueueError, OutboxStore, Wakeup};
use tenure::core::event::Recorded as Event;
use tenure::core::health::judge_loops;
use tenure::core::id::NodeName;
use tenure::core::memory::MemoryStore;
use tenure::core::observe::{RunnerKind, RunnerReport};
use tenure::core::outbox::{Enqueued, Limits, Loaded, Look, Outcome, Page, Recorded, RowId, Swept, Verdict};
use tenure::sink::Handlers;
use tenure::{
    Database, EventHandler, Events, Fence, HandleError, HealthThresholds, LeaseSettings, Leases, Level,
    NewMessage, Relay, RelaySettings, Retention, Role, SteadyStoreClock, Stop, Subscription,
    SubscriptionSettings, local_node, runners,
};

fn listed(kind: RunnerKind, name: &str) -> Vec<RunnerReport> {
    runners().list().into_iter().filter(|report| report.kind == kind && report.name == name).collect()
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let all = async {
        while !done() {
            // passes time: between two looks at the list
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect(what);
}

fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())))
}

fn relay(store: Arc<dyn OutboxStore>) -> Relay {
    let sink = Handlers::new().on("good", |_| Box::pin(async { Verdict::Accepted })).unwrap();
    let node = local_node(Some("one")).unwrap();
    Relay::new(store, Arc::new(sink), node.name, RelaySettings::default()).unwrap()
}

#[tokio::test]
async fn a_run_that_is_dropped_has_ended_and_is_no_loop_that_stopped() {
    let store = store();
    let node = local_node(Some("one")).unwrap();
    let lease = Leases::new(store.clone(), node).lease("dropped", LeaseSettings::default()).unwrap();
    let relays = [("outbox", relay(store.clone())), ("dropped", relay(store.clone()).exclusive(lease))];
    for (name, relay) in relays {
        let running = relay.clone();
        let task = tokio::spawn(async move { running.run(&Stop::new()).await });
        until("it is on the list", || !listed(RunnerKind::Relay, name).is_empty()).await;
        until("it works", || relay.status().looks > 0).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(listed(RunnerKind::Relay, name), [], "although the relay is kept");
        assert_eq!(relay.status().role, Role::Stopped);
    }
}

#[derive(Debug)]
struct Ignores;

#[async_trait]
impl EventHandler for Ignores {
    async fn handle(&self, _: &Event) -> Result<(), HandleError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_subscription_that_is_dropped_has_ended_too() {
    let database = Database::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())));
    let reading = Subscription::new(
        "dropped",
        Events::new(database.events()),
        database.checkpoints(),
        Arc::new(Ignores) as Arc<dyn EventHandler>,
        SubscriptionSettings::default(),
    );
    let reading = reading.unwrap();
    let running = reading.clone();
    let task = tokio::spawn(async move { running.run(&Stop::new()).await });
    until("it is on the list", || !listed(RunnerKind::Subscription, "dropped").is_empty()).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(listed(RunnerKind::Subscription, "dropped"), []);
}

/// An outbox in which retention meets a fault of the program's.
#[derive(Debug)]
struct Broken(Arc<MemoryStore>);

#[async_trait]
impl OutboxStore for Broken {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        self.0.enqueue(messages, limits).await
    }
    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        self.0.look(look).await
    }
    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        self.0.load(id, limits).await
    }
    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        self.0.record(office, node, outcomes).await
    }
    async fn sweep(&self, _: Option<&Fence>, _: &Retention, _: Option<i64>) -> Result<Swept, StoreError> {
        panic!("a fault of the store's")
    }
    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        self.0.listen().await
    }
}

#[tokio::test]
async fn a_sweeper_that_panicked_is_reported_as_stopped_and_messages_flow() {
    let memory = store();
    let leases = Leases::new(memory.clone(), local_node(Some("one")).unwrap());
    let store = Arc::new(Broken(memory));
    let relay = relay(store.clone()).exclusive(leases.lease("swept", LeaseSettings::default()).unwrap());
    let relay = relay.with_retention(Retention::default()).unwrap();
    let (stop, running) = (Stop::new(), relay.clone());
    let end = stop.clone();
    let task = tokio::spawn(async move { running.run(&end).await });
    let fallen = || listed(RunnerKind::Sweeper, "retention").iter().any(RunnerReport::has_fallen);
    until("it is reported", fallen).await;
    let judged = judge_loops(&listed(RunnerKind::Sweeper, "retention"), &HealthThresholds::default());
    assert_eq!(judged.level, Level::Unhealthy, "{judged:?}");
    assert!(judged.reasons[0].contains("ended by a panic"), "{judged:?}");
    store.enqueue(&[NewMessage::json("orders", "good", "{}")], &Limits::default()).await.unwrap();
    until("it is delivered", || relay.status().delivered == 1).await;
    stop.stop();
    task.await.unwrap().unwrap();
}
