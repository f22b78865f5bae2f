//! The monitor of health: how often it asks, what it says of a store that is slow or away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure::core::contract::{CheckpointStore, EventStore, OperatorStores, OutboxAdmin, OutboxStore};
use tenure::core::event::{Append, AppendAnswer, Expected, NewEvent, Position, StreamName};
use tenure::core::health::StoreState;
use tenure::core::memory::MemoryStore;
use tenure::core::outbox::{
    Acted, CauseId, Count, Counted, DeadWalk, Details, Graves, Limits, Listing, NewMessage, Pulse, Selection,
    Stats,
};
use tenure::core::subscription::{Advance, Step, SubscriptionName};
use tenure::{HealthMonitor, HealthThresholds, Level, SteadyStoreClock, StoreError};

/// An outbox that can be slow, or away.
#[derive(Debug)]
struct Moody {
    of: Arc<MemoryStore>,
    asked: AtomicU32,
    mood: std::sync::Mutex<Mood>,
}

#[derive(Debug, Clone, Copy)]
enum Mood {
    Good,
    Slow,
    Away,
    Broken,
}

fn away() -> StoreError {
    StoreError::Unreachable { store: "memory".into(), message: "it sulks".into() }
}

#[async_trait]
impl OutboxAdmin for Moody {
    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Good => self.of.pulse(at_most).await,
            Mood::Slow => std::future::pending().await,
            Mood::Away => Err(away()),
            Mood::Broken => panic!("a fault of the store's"),
        }
    }
    async fn stats(&self) -> Result<Stats, StoreError> {
        Err(away())
    }
    async fn list(&self, _: &Selection) -> Result<Listing, StoreError> {
        Err(away())
    }
    async fn show(&self, _: &str, _: usize) -> Result<Option<Details>, StoreError> {
        Err(away())
    }
    async fn count_dead(&self, _: &DeadWalk) -> Result<Counted, StoreError> {
        Err(away())
    }
    async fn graves(&self, _: Option<CauseId>, _: u32, _: u32) -> Result<Graves, StoreError> {
        Err(away())
    }
    async fn retry(&self, _: &DeadWalk, _: &str) -> Result<Acted, StoreError> {
        Err(away())
    }
    async fn discard(&self, _: &DeadWalk, _: &str) -> Result<Acted, StoreError> {
        Err(away())
    }
}

fn monitor(mood: Mood) -> (Arc<Moody>, HealthMonitor, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())));
    let moody = Arc::new(Moody { of: store.clone(), asked: AtomicU32::new(0), mood: mood.into() });
    let capabilities = tenure::core::contract::LeaseStore::capabilities(&*store);
    let stores = OperatorStores { outbox: moody.clone(), ..OperatorStores::of(store.clone(), capabilities) };
    (moody, HealthMonitor::new(stores, HealthThresholds::default()).unwrap(), store)
}

/// What is said of the store; loops of other tests are none of ours.
fn of_store(report: &tenure::HealthReport) -> (Level, String) {
    let check = report.checks.iter().find(|check| check.name == "store").unwrap();
    (check.level, check.what.clone())
}

#[tokio::test]
async fn a_hundred_who_ask_at_once_are_one_question() {
    let (moody, monitor, store) = monitor(Mood::Good);
    store.enqueue(&[NewMessage::json("t", "k", "{}")], &Limits::default()).await.unwrap();
    let asking: Vec<_> = (0..100)
        .map(|_| {
            let monitor = monitor.clone();
            tokio::spawn(async move { monitor.ready().await })
        })
        .collect();
    for asked in asking {
        assert_eq!(of_store(&asked.await.unwrap()), (Level::Healthy, "the store answers".to_owned()));
    }
    assert_eq!(moody.asked.load(Ordering::SeqCst), 1);
    let (pulse, age) = monitor.facts().pulse.unwrap();
    assert_eq!(pulse.pending, Count::exactly(1));
    assert!(age < Duration::from_secs(5));
}

#[tokio::test]
async fn a_store_that_is_away_is_said_to_be_and_liveness_does_not_ask_it() {
    let (moody, monitor, _) = monitor(Mood::Away);
    let (level, what) = of_store(&monitor.ready().await);
    assert_eq!(level, Level::Degraded, "{what}");
    assert!(what.contains("it sulks"), "{what}");
    let asked = moody.asked.load(Ordering::SeqCst);
    let _ = monitor.live();
    assert_eq!(moody.asked.load(Ordering::SeqCst), asked);
}

#[tokio::test]
async fn a_store_that_does_not_answer_keeps_nobody_waiting() {
    let (moody, monitor, _) = monitor(Mood::Slow);
    let began = Instant::now();
    let report = monitor.ready().await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(of_store(&report).0, Level::Degraded);
    assert!(matches!(monitor.facts().store, StoreState::Away { .. }), "{:?}", monitor.facts().store);
    // The one question goes on: nobody asks a second one meanwhile.
    let _ = monitor.ready().await;
    assert_eq!(moody.asked.load(Ordering::SeqCst), 1);
}

/// It has answered before: that says nothing of now.
#[tokio::test]
async fn a_store_that_falls_silent_is_away_and_one_that_panics_is_asked_again() {
    let (moody, monitor, _) = monitor(Mood::Good);
    assert_eq!(of_store(&monitor.ready().await).0, Level::Healthy);
    *moody.mood.lock().unwrap() = Mood::Broken;
    // passes time: what was asked just now is not asked again
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let (level, what) = of_store(&monitor.ready().await);
    assert_eq!(level, Level::Degraded, "{what}");
    *moody.mood.lock().unwrap() = Mood::Good;
    // passes time: the same
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(of_store(&monitor.ready().await).0, Level::Healthy);
    *moody.mood.lock().unwrap() = Mood::Slow;
    // passes time: the same
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let (level, what) = of_store(&monitor.ready().await);
    assert_eq!(level, Level::Degraded, "{what}");
    assert!(what.contains("no answer yet"), "{what}");
    // From its last answer on, not from the question that found it out.
    let StoreState::Away { since, .. } = monitor.facts().store else { panic!("it is away") };
    assert!(since >= Duration::from_millis(4_500), "{since:?}");
}

/// `tenure status` and probes are one judgement of the same facts.
#[tokio::test]
async fn who_asks_once_hears_the_same_as_a_probe() {
    let clock = Arc::new(tenure::core::memory::ManualClock::default());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let event = NewEvent::json(uuid::Uuid::from_u128(1), "Lent", "{}");
    let append = Append::new(
        StreamName::new("loan-1").unwrap(),
        Expected::NONE,
        vec![event.clone(), {
            let mut second = event;
            second.id = uuid::Uuid::from_u128(2);
            second
        }],
    );
    let answer = EventStore::append(&*store, &append, &Default::default()).await.unwrap();
    assert!(matches!(answer, AppendAnswer::Appended(_)), "{answer:?}");
    let name = SubscriptionName::new("loans").unwrap();
    let step = Step { name, from: Position::START, rewinds: 0, to: Position(1), parked: vec![] };
    assert_eq!(store.advance(None, &step).await.unwrap(), Advance::Advanced);
    clock.advance(Duration::from_secs(600));
    let capabilities = tenure::core::contract::LeaseStore::capabilities(&*store);
    let stores = OperatorStores::of(store, capabilities);
    let monitor = || HealthMonitor::new(stores.clone(), HealthThresholds::default()).unwrap();
    let (once, probed) = (monitor().judge_once().await.unwrap(), monitor().ready().await);
    let stands = |report: &tenure::HealthReport| {
        let check = report.checks.iter().find(|check| check.name == "subscription loans").unwrap();
        (report.level, check.level, check.what.clone())
    };
    assert_eq!(stands(&once), stands(&probed));
    assert_eq!(stands(&once).0, Level::Unhealthy);
}

#[test]
fn thresholds_that_do_not_fit_are_refused() {
    let (_, _, store) = monitor(Mood::Good);
    let capabilities = tenure::core::contract::LeaseStore::capabilities(&*store);
    let wrong = HealthThresholds { dead_degraded: 1_000, ..HealthThresholds::default() };
    let error = HealthMonitor::new(OperatorStores::of(store, capabilities), wrong).unwrap_err();
    assert!(error.to_string().contains("dead_unhealthy"), "{error}");
}
