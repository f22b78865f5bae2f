//! Subscriptions that cannot go on by themselves: rows that nobody can read, and operators who move checkpoints meanwhile.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::core::memory::MemoryStore;
use tenure::core::subscription::{Rewind, SubscriptionName};
use tenure::event::Position;
use tenure::{
    Database, OnFailure, Projection, RetryPolicy, SteadyStoreClock, SubscriptionSettings, SubscriptionState,
};

use crate::bank::database;
use crate::subscription::{Counting, Notes, append, checkpoint, each, quick, run, subscription};

/// A pause may last for minutes; whoever moves the checkpoint past what fails does not wait for its end.
#[tokio::test]
async fn a_rewind_is_noticed_while_a_reader_waits_to_try_again() {
    let database = database();
    append(&database, &["A", "Bad", "C"]).await;
    let notes = Notes::failing(u32::MAX);
    let long = Duration::from_secs(600);
    let retry = RetryPolicy { max_attempts: 1, first: long, cap: long };
    let running = run(subscription(&database, each(&notes), SubscriptionSettings { retry, ..quick() }));
    for _ in 0..4000 {
        if running.subscription.status().trouble.is_some() {
            break;
        }
        // passes time: the reader works in a task of its own
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(running.subscription.status().trouble.as_deref(), Some("not now"));
    let (name, began) = (SubscriptionName::new("sub").unwrap(), std::time::Instant::now());
    assert_eq!(
        database.checkpoints().rewind(&name, Position(2), "the operator").await.unwrap(),
        Rewind::Moved
    );
    notes.until(2).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    running.until_state(|state| *state == SubscriptionState::Live).await;
    assert_eq!(running.subscription.status().trouble, None);
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "C"]);
}

/// The same place again means: try again.
#[tokio::test]
async fn a_rewind_to_where_the_checkpoint_is_makes_a_waiting_reader_try_again() {
    let database = database();
    append(&database, &["A", "Bad", "C"]).await;
    let notes = Notes::failing(1);
    let long = Duration::from_secs(600);
    let retry = RetryPolicy { max_attempts: 1, first: long, cap: long };
    let settings = SubscriptionSettings { checkpoint_every: 1, retry, ..quick() };
    let running = run(subscription(&database, each(&notes), settings));
    for _ in 0..4000 {
        if running.subscription.status().trouble.is_some() && checkpoint(&database).await == Position(1) {
            break;
        }
        // passes time: the reader works in a task of its own
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let name = SubscriptionName::new("sub").unwrap();
    assert_eq!(
        database.checkpoints().rewind(&name, Position(1), "the operator").await.unwrap(),
        Rewind::Moved
    );
    notes.until(3).await;
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "Bad", "C"]);
}

/// Catalogue: someone has damaged a row by hand. It is put aside with its reason, and everyone goes on.
#[tokio::test]
async fn a_row_that_cannot_be_read_is_put_aside_with_its_reason() {
    let store = MemoryStore::new(Arc::new(SteadyStoreClock::start()));
    let database = Database::new(store.clone());
    append(&database, &["A", "B", "C", "D"]).await;
    for position in [2, 4] {
        assert!(store.damage_event(Position(position), "the id is none"));
    }
    let notes = Notes::failing(0);
    let settings = SubscriptionSettings { on_failure: OnFailure::Park, page: 1, ..quick() };
    let running = run(subscription(&database, each(&notes), settings));
    notes.until(2).await;
    append(&database, &["E"]).await;
    notes.until(3).await;
    running.end().await.unwrap();
    assert_eq!(
        (notes.seen(), checkpoint(&database).await),
        (vec!["A".into(), "C".into(), "E".into()], Position(5))
    );
    let parked =
        database.checkpoints().parked(&SubscriptionName::new("sub").unwrap(), None, 10).await.unwrap();
    let told: Vec<_> = parked
        .iter()
        .map(|parked| (parked.aside.position.0, parked.aside.kind.as_str(), parked.aside.attempts))
        .collect();
    assert_eq!(told, [(2, "B", 1), (4, "D", 1)]);
    assert!(parked.iter().all(|parked| parked.aside.reason.contains("the id is none")));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_halts_with_its_reason_until_an_operator_decides() {
    let store = MemoryStore::new(Arc::new(SteadyStoreClock::start()));
    let database = Database::new(store.clone());
    append(&database, &["A", "B", "C"]).await;
    assert!(store.damage_event(Position(2), "the id is none"));
    let notes = Notes::failing(0);
    let running = run(subscription(&database, each(&notes), quick()));
    let halted = |state: &SubscriptionState| matches!(state, SubscriptionState::Halted { reason } if reason.contains("the id is none"));
    running.until_state(halted).await;
    let name = SubscriptionName::new("sub").unwrap();
    assert_eq!(
        database.checkpoints().rewind(&name, Position(2), "the operator").await.unwrap(),
        Rewind::Moved
    );
    notes.until(2).await;
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "C"]);
}

#[tokio::test]
async fn a_projection_goes_on_without_rows_that_cannot_be_read() {
    let store = MemoryStore::new(Arc::new(SteadyStoreClock::start()));
    let database = Database::new(store.clone());
    append(&database, &["A", "B", "C", "D", "E", "F"]).await;
    for position in [1, 3, 6] {
        assert!(store.damage_event(Position(position), "the id is none"));
    }
    let counting = Arc::new(Counting {
        checkpoints: database.checkpoints(),
        counted: Mutex::default(),
        lost: AtomicU32::new(0),
    });
    let projection: Arc<dyn Projection> = counting.clone();
    let settings = SubscriptionSettings { on_failure: OnFailure::Park, ..quick() };
    let running = run(subscription(&database, projection, settings));
    for _ in 0..4000 {
        if checkpoint(&database).await == Position(6) {
            break;
        }
        // passes time: the reader works in a task of its own
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    running.end().await.unwrap();
    let counted = counting.counted.lock().unwrap().clone();
    assert_eq!(counted, [("B", 1), ("D", 1), ("E", 1)].map(|(kind, count)| (kind.to_owned(), count)).into());
    let parked =
        database.checkpoints().parked(&SubscriptionName::new("sub").unwrap(), None, 10).await.unwrap();
    assert_eq!(parked.iter().map(|parked| parked.aside.position.0).collect::<Vec<_>>(), [1, 3, 6]);
}
