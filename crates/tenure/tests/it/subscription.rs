//! Subscriptions and taps at work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::contract::CheckpointStore;
use tenure::core::lease::Fence;
use tenure::core::subscription::{Advance, Rewind, Step, SubscriptionName};
use tenure::event::{Append, Expected, NewEvent, Position, Recorded, StreamName};
use tenure::{
    Database, EventHandler, Events, HandleError, Handling, LeaseSettings, Leases, OnFailure, Projection,
    RetryPolicy, Stop, Subscription, SubscriptionError, SubscriptionSettings, SubscriptionState, Tap,
    TapSettings, local_node,
};

use crate::bank::database;

pub(crate) async fn append(database: &Database, kinds: &[&str]) {
    for kind in kinds {
        let event = NewEvent::json(tenure::new_id(), *kind, "{}");
        let append = Append::new(StreamName::new("s").unwrap(), Expected::Any, vec![event]);
        let _ = Events::new(database.events()).append(&append).await.unwrap();
    }
}

/// Notes what it handled; what is called `Bad…` fails as long as there are failures left, `Poison` always.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    seen: Mutex<Vec<String>>,
    failures: AtomicU32,
}

#[async_trait]
impl EventHandler for Notes {
    async fn handle(&self, event: &Recorded) -> Result<(), HandleError> {
        if event.kind == "Poison" {
            return Err(HandleError::poison("the type `Poison` is unknown"));
        }
        if event.kind == "Panic" && self.failures.fetch_sub(1, Ordering::SeqCst) > 0 {
            panic!("the handler has a bug");
        }
        if event.kind == "Hang" && self.failures.fetch_sub(1, Ordering::SeqCst) > 0 {
            std::future::pending::<()>().await;
        }
        if event.kind == "Bad" && self.failures.load(Ordering::SeqCst) > 0 {
            self.failures.fetch_sub(1, Ordering::SeqCst);
            return Err(HandleError::transient("not now"));
        }
        self.seen.lock().unwrap().push(event.kind.clone());
        Ok(())
    }
}

impl Notes {
    pub(crate) fn failing(times: u32) -> Arc<Self> {
        Arc::new(Self { failures: AtomicU32::new(times), ..Self::default() })
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) async fn until(&self, count: usize) {
        for _ in 0..4000 {
            if self.seen().len() >= count {
                return;
            }
            // passes time: the reader works in a task of its own
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("only {:?} of {count}", self.seen());
    }
}

pub(crate) fn quick() -> SubscriptionSettings {
    let retry = RetryPolicy { max_attempts: 3, first: Duration::from_millis(10), ..RetryPolicy::default() };
    SubscriptionSettings { retry, deadline: Duration::from_millis(200), ..SubscriptionSettings::default() }
}

pub(crate) fn subscription(
    database: &Database,
    handling: impl Into<Handling>,
    settings: SubscriptionSettings,
) -> Subscription {
    Subscription::new("sub", Events::new(database.events()), database.checkpoints(), handling, settings)
        .unwrap()
}

pub(crate) fn each(notes: &Arc<Notes>) -> Handling {
    let handler: Arc<dyn EventHandler> = notes.clone();
    handler.into()
}

pub(crate) struct Running {
    pub(crate) subscription: Subscription,
    stop: Stop,
    task: tokio::task::JoinHandle<Result<(), SubscriptionError>>,
}

pub(crate) fn run(subscription: Subscription) -> Running {
    let (stop, running) = (Stop::new(), subscription.clone());
    let ending = stop.clone();
    Running { subscription, stop, task: tokio::spawn(async move { running.run(&ending).await }) }
}

impl Running {
    pub(crate) async fn end(self) -> Result<(), SubscriptionError> {
        self.stop.stop();
        self.task.await.unwrap()
    }

    pub(crate) async fn until_state(&self, wanted: impl Fn(&SubscriptionState) -> bool) {
        for _ in 0..4000 {
            if wanted(&self.subscription.status().state) {
                return;
            }
            // passes time: the reader works in a task of its own
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("{:?}", self.subscription.status());
    }
}

pub(crate) async fn checkpoint(database: &Database) -> Position {
    database.checkpoints().checkpoint(&SubscriptionName::new("sub").unwrap()).await.unwrap().position
}

#[tokio::test]
async fn b20_everything_is_handled_in_order_caught_up_and_live_and_nothing_again_after_a_stop() {
    let database = database();
    append(&database, &["A", "B"]).await;
    let notes = Notes::failing(0);
    let running = run(subscription(&database, each(&notes), quick()));
    notes.until(2).await;
    running.until_state(|state| *state == SubscriptionState::Live).await;
    append(&database, &["C"]).await;
    notes.until(3).await;
    running.end().await.unwrap();
    assert_eq!(checkpoint(&database).await, Position(3));
    append(&database, &["D"]).await;
    let again = run(subscription(&database, each(&notes), quick()));
    notes.until(4).await;
    again.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "B", "C", "D"]);
}

#[tokio::test]
async fn a_crash_handles_again_what_was_not_saved_and_skips_nothing() {
    let database = database();
    append(&database, &["A", "B", "C"]).await;
    let notes = Notes::failing(0);
    let settings =
        SubscriptionSettings { checkpoint_every: 2, checkpoint_after: Duration::from_secs(3600), ..quick() };
    let dying = run(subscription(&database, each(&notes), settings.clone()));
    notes.until(3).await;
    for _ in 0..2000 {
        if checkpoint(&database).await == Position(2) {
            break;
        }
        // passes time: the checkpoint moves after the handling
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    dying.task.abort();
    assert!(dying.task.await.is_err());
    let next = run(subscription(&database, each(&notes), settings));
    notes.until(4).await;
    next.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "B", "C", "C"]);
}

#[tokio::test]
async fn a_failure_is_tried_again_in_its_place() {
    for kind in ["Bad", "Panic", "Hang"] {
        let database = database();
        append(&database, &["A", kind, "C"]).await;
        let notes = Notes::failing(2);
        let running = run(subscription(&database, each(&notes), quick()));
        notes.until(3).await;
        running.end().await.unwrap();
        assert_eq!(notes.seen(), ["A", kind, "C"]);
    }
}

#[tokio::test]
async fn an_event_that_cannot_be_handled_is_put_aside_with_its_reason() {
    let database = database();
    append(&database, &["A", "Poison", "Bad", "D"]).await;
    let notes = Notes::failing(u32::MAX);
    let settings = SubscriptionSettings { on_failure: OnFailure::Park, ..quick() };
    let running = run(subscription(&database, each(&notes), settings));
    notes.until(2).await;
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "D"]);
    let parked =
        database.checkpoints().parked(&SubscriptionName::new("sub").unwrap(), None, 10).await.unwrap();
    let told: Vec<_> = parked
        .iter()
        .map(|parked| (parked.aside.kind.as_str(), parked.aside.attempts, parked.aside.reason.as_str()))
        .collect();
    assert_eq!(told, [("Poison", 1, "the type `Poison` is unknown"), ("Bad", 3, "not now")]);
    let progress = database.checkpoints().subscriptions(None, 1_000).await.unwrap();
    assert_eq!((progress[0].position, progress[0].parked.number), (Position(4), 2));
}

#[tokio::test]
async fn a_halted_subscription_says_why_and_goes_on_where_an_operator_puts_it() {
    let database = database();
    append(&database, &["A", "Poison", "C"]).await;
    let notes = Notes::failing(0);
    let running = run(subscription(&database, each(&notes), quick()));
    running
        .until_state(
            |state| matches!(state, SubscriptionState::Halted { reason } if reason.contains("Poison")),
        )
        .await;
    assert_eq!(notes.seen(), ["A"]);
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
async fn a_rewind_of_a_reader_that_has_nothing_to_do_is_noticed() {
    let database = database();
    append(&database, &["A", "B"]).await;
    let notes = Notes::failing(0);
    let short = Duration::from_millis(50);
    let settings = SubscriptionSettings { poll: short, poll_without_wakeup: short, ..quick() };
    let running = run(subscription(&database, each(&notes), settings));
    notes.until(2).await;
    running.until_state(|state| *state == SubscriptionState::Live).await;
    for _ in 0..2000 {
        if checkpoint(&database).await == Position(2) {
            break;
        }
        // passes time: the checkpoint moves a second after the handling
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(
        database
            .checkpoints()
            .rewind(&SubscriptionName::new("sub").unwrap(), Position(1), "the operator")
            .await
            .unwrap(),
        Rewind::Moved
    );
    notes.until(3).await;
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "B", "B"]);
}

#[tokio::test]
async fn a_halt_for_what_may_pass_heals_by_itself() {
    let database = database();
    append(&database, &["Bad", "B"]).await;
    // More failures than attempts.
    let notes = Notes::failing(6);
    let retry = RetryPolicy { cap: Duration::from_millis(10), ..quick().retry };
    let running = run(subscription(&database, each(&notes), SubscriptionSettings { retry, ..quick() }));
    notes.until(2).await;
    assert_eq!(running.subscription.status().trouble, None);
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["Bad", "B"]);
}

#[tokio::test]
async fn a_checkpoint_ahead_of_the_store_is_said_loudly_and_nothing_is_skipped() {
    let database = database();
    append(&database, &["A"]).await;
    let name = SubscriptionName::new("sub").unwrap();
    let step = Step { name, from: Position(0), rewinds: 0, to: Position(50), parked: Vec::new() };
    assert_eq!(database.checkpoints().advance(None, &step).await.unwrap(), Advance::Advanced);
    let notes = Notes::failing(0);
    let error =
        run(subscription(&database, each(&notes), quick())).task.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("restored from an older backup"), "{error}");
    assert_eq!((notes.seen().len(), checkpoint(&database).await), (0, Position(50)));
}

#[tokio::test]
async fn a2_of_two_readers_one_works_and_the_other_takes_over() {
    let database = database();
    append(&database, &["A"]).await;
    let reader = |node: &str, notes: &Arc<Notes>| {
        let leases = Leases::new(database.leases(), local_node(Some(node)).unwrap());
        let lease = leases.lease("subscription/sub", LeaseSettings::default()).unwrap();
        run(subscription(&database, each(notes), quick()).exclusive(lease))
    };
    let (first, second) = (Notes::failing(0), Notes::failing(0));
    let one = reader("one", &first);
    first.until(1).await;
    let two = reader("two", &second);
    two.until_state(|state| *state == SubscriptionState::Standby).await;
    append(&database, &["B"]).await;
    first.until(2).await;
    assert!(second.seen().is_empty(), "a standby reads nothing");
    one.end().await.unwrap();
    append(&database, &["C"]).await;
    second.until(1).await;
    two.end().await.unwrap();
    assert_eq!((first.seen(), second.seen()), (vec!["A".into(), "B".into()], vec!["C".to_owned()]));
}

#[tokio::test]
async fn a_lease_of_another_store_is_refused_before_anything_is_handled() {
    let (here, elsewhere) = (database(), database());
    append(&here, &["A"]).await;
    let leases = Leases::new(elsewhere.leases(), local_node(Some("n")).unwrap());
    let lease = leases.lease("subscription/sub", LeaseSettings::default()).unwrap();
    let notes = Notes::failing(0);
    let running = run(subscription(&here, each(&notes), quick()).exclusive(lease));
    let error = running.task.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("kept in another store") && notes.seen().is_empty(), "{error}");
}

/// Counts, in the transaction that moves the checkpoint: here, under one lock.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) checkpoints: Arc<dyn CheckpointStore>,
    pub(crate) counted: Mutex<BTreeMap<String, u32>>,
    /// How many answers are lost after the commit.
    pub(crate) lost: AtomicU32,
}

#[async_trait]
impl Projection for Counting {
    fn batch(&self) -> usize {
        2
    }

    async fn apply(
        &self,
        events: &[Recorded],
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, HandleError> {
        if events.iter().any(|event| event.kind == "Poison") {
            return Err(HandleError::poison("it holds poison"));
        }
        let answer = self.checkpoints.advance(office, step).await.map_err(HandleError::transient)?;
        if answer == Advance::Advanced {
            for event in events {
                *self.counted.lock().unwrap().entry(event.kind.clone()).or_default() += 1;
            }
        }
        if self.lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |lost| lost.checked_sub(1)).is_ok() {
            return Err(HandleError::transient("the answer was lost"));
        }
        Ok(answer)
    }
}

#[tokio::test]
async fn s54_a_projection_counts_once_also_when_its_answer_is_lost_and_poison_is_put_aside_alone() {
    let database = database();
    append(&database, &["A", "B", "C", "Poison", "E", "A"]).await;
    let counting = Arc::new(Counting {
        checkpoints: database.checkpoints(),
        counted: Mutex::default(),
        lost: AtomicU32::new(2),
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
    let expected = [("A", 2), ("B", 1), ("C", 1), ("E", 1)];
    assert_eq!(counted, expected.map(|(kind, count)| (kind.to_owned(), count)).into());
    let parked =
        database.checkpoints().parked(&SubscriptionName::new("sub").unwrap(), None, 10).await.unwrap();
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].aside.kind, "Poison");
}

#[cfg(feature = "testing")]
#[tokio::test]
async fn a_checkpoint_whose_answer_was_lost_does_not_stop_the_reader() {
    use tenure::testing::{Call, Fault, Faults};
    let (database, faults) = (database(), Faults::new());
    append(&database, &["A", "B", "C", "D"]).await;
    let notes = Notes::failing(0);
    let settings = SubscriptionSettings { checkpoint_every: 1, page: 2, ..quick() };
    let events = Events::new(faults.events(database.events()));
    let checkpoints = faults.checkpoints(database.checkpoints());
    let faulty = Subscription::new("sub", events, checkpoints, each(&notes), settings).unwrap();
    // The first is read before anything is handled.
    faults.next(Call::Checkpoint, Fault::Before).next(Call::Checkpoint, Fault::Before);
    faults.next(Call::Read, Fault::Before);
    let running = run(faulty);
    notes.until(1).await;
    faults.next(Call::Checkpoint, Fault::After);
    notes.until(4).await;
    running.end().await.unwrap();
    assert_eq!(notes.seen(), ["A", "B", "C", "D"]);
    assert_eq!(checkpoint(&database).await, Position(4));
}

#[tokio::test]
async fn a11_taps_see_what_comes_without_a_lease_and_remember_nothing() {
    let database = database();
    append(&database, &["Before"]).await;
    let mut taps = Vec::new();
    for _ in 0..2 {
        taps.push(Tap::open(Events::new(database.events()), TapSettings::default()).await.unwrap());
    }
    append(&database, &["A", "B"]).await;
    for tap in &mut taps {
        assert_eq!(tap.next().await.unwrap().kind, "A");
        assert_eq!(tap.next().await.unwrap().kind, "B");
    }
    assert!(database.checkpoints().subscriptions(None, 1_000).await.unwrap().is_empty());
}
