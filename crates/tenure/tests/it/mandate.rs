//! Work under a right that somebody else obtained: how it ends, and that it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure::core::StoreError;
use tenure::core::contract::LeaseAdmin;
use tenure::core::lease::{Change, Forgotten, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke};
use tenure::core::outbox::Limits;
use tenure::core::time::StoreTime;
use tenure::event::{Append, Expected, NewEvent, StreamName};
use tenure::{
    Database, Depot, Events, Left, Mandate, RelaySettings, Retention, Stop, Subscription,
    SubscriptionSettings, Sweeper, handler, runners,
};

use crate::bank::database;
use crate::parts::{Notebook, Registrar, Running, fill, quick, run, text, until, until_pending};

async fn send(database: &Database, count: usize) {
    let messages: Vec<_> = (0..count).map(|number| text(Some("a"), &format!("{number:03}"))).collect();
    database.outbox().enqueue(&messages, &Limits::default()).await.unwrap();
}

fn start(database: &Database, sink: &Arc<Notebook>, settings: RelaySettings, mandate: Mandate) -> Running {
    run(&Depot::new(database.outbox(), 64).unwrap(), sink, settings, mandate)
}

#[tokio::test]
async fn s41_a_fence_that_was_never_good_delivers_nothing() {
    let database = database();
    let registrar = Registrar::new(&database);
    send(&database, 3).await;
    let (lease, mandate, _) = registrar.grants("right").await;
    lease.release().await.unwrap();
    let sink = Notebook::new(Duration::ZERO);
    let running = start(&database, &sink, quick(None), mandate);
    let left = running.task.await.unwrap().unwrap();
    assert!(matches!(left, Left::Refused(in_air) if in_air.count() == 0));
    assert_eq!(sink.count(), 0);
}

#[tokio::test]
async fn s41_a_fence_that_the_store_refuses_ends_the_relay() {
    let database = database();
    let registrar = Registrar::new(&database);
    let (lease, mandate, _) = registrar.grants("right").await;
    let sink = Notebook::new(Duration::ZERO);
    let running = start(&database, &sink, quick(None), mandate);
    send(&database, 1).await;
    until_pending(&database, 0).await;
    // It is over, and nobody tells the relay.
    lease.release().await.unwrap();
    send(&database, 500).await;
    let left = running.task.await.unwrap().unwrap();
    assert!(matches!(left, Left::Refused(_)), "{left:?}");
    assert_eq!(database.outbox_admin().stats().await.unwrap().pending, 500, "nothing was recorded");
}

#[tokio::test]
async fn s41_a_right_that_is_lost_ends_the_relay_and_nothing_more_is_recorded() {
    let database = database();
    let registrar = Registrar::new(&database);
    send(&database, 5).await;
    let (_lease, mandate, lost) = registrar.grants("right").await;
    let sink = Notebook::hanging();
    let running = start(&database, &sink, quick(None), mandate);
    until("a delivery is under way", || sink.count() == 1).await;
    lost.stop();
    let Left::Lost(in_air) = running.task.await.unwrap().unwrap() else { panic!("it was lost") };
    assert_eq!(in_air.count(), 1, "what was begun goes on");
    sink.release();
    in_air.landed().await;
    assert_eq!(sink.count(), 1, "nothing more was begun");
    assert_eq!(database.outbox_admin().stats().await.unwrap().pending, 5, "nothing was recorded");
}

#[tokio::test]
async fn s01_nothing_is_delivered_under_a_right_that_is_no_longer_trusted() {
    let database = database();
    let registrar = Registrar::new(&database);
    let (_lease, mandate, _) = registrar.grants("right").await;
    // The signal is late: the clock alone tells.
    let trusted = Arc::new(AtomicBool::new(true));
    let asked = trusted.clone();
    let sink = Notebook::new(Duration::ZERO);
    let mandate = mandate.trusted_while(move || asked.load(Ordering::SeqCst));
    let running = start(&database, &sink, quick(None), mandate);
    send(&database, 1).await;
    until_pending(&database, 0).await;
    trusted.store(false, Ordering::SeqCst);
    send(&database, 1).await;
    let left = tokio::time::timeout(Duration::from_secs(20), running.task).await.expect("it ends by itself");
    assert!(matches!(left.unwrap().unwrap(), Left::Lost(_)));
    assert_eq!(sink.count(), 1);
}

#[tokio::test]
async fn s72_what_does_not_end_in_time_is_told_and_can_be_waited_for() {
    let database = database();
    let registrar = Registrar::new(&database);
    fill(&*database.outbox(), 3, 1).await;
    let (_lease, mandate, _) = registrar.grants("right").await;
    let sink = Notebook::hanging();
    let settings = RelaySettings { drain: Duration::from_millis(50), ..quick(None) };
    let running = start(&database, &sink, settings, mandate);
    until("all are under way", || sink.count() == 4).await;
    let Left::Unsettled(in_air) = running.ends().await else { panic!("they hang") };
    assert!(in_air.count() >= 4, "{in_air:?}");
    let landed = tokio::spawn({
        let in_air = in_air.clone();
        async move { in_air.landed().await }
    });
    assert!(!landed.is_finished());
    sink.release();
    landed.await.unwrap();
    assert_eq!(in_air.count(), 0);
}

#[tokio::test]
async fn s50_a_sweeper_of_its_own_deletes_until_its_right_is_over() {
    let database = database();
    let registrar = Registrar::new(&database);
    let sink = Notebook::new(Duration::ZERO);
    let (_relay, mandate, _) = registrar.grants("relay").await;
    let relay = start(&database, &sink, quick(None), mandate);
    send(&database, 20).await;
    until_pending(&database, 0).await;
    assert!(matches!(relay.ends().await, Left::Stopped));

    let (every, now) = (Duration::from_secs(1), Some(Duration::ZERO));
    let retention = Retention { dispatched: now, every, inbox: None, batch: 7, ..Retention::default() };
    let sweeper = Sweeper::new(database.outbox(), retention, &quick(None)).unwrap();
    let sweep = |mandate: Mandate| {
        let (sweeper, stop) = (sweeper.clone(), Stop::new());
        let theirs = stop.clone();
        (stop, tokio::spawn(async move { sweeper.run_under(&mandate, &theirs).await }))
    };
    let (lease, mandate, lost) = registrar.grants("sweeper").await;
    let (stop, running) = sweep(mandate.clone());
    until("all is swept", || sweeper.swept() == 20).await;
    stop.stop();
    assert!(matches!(running.await.unwrap(), Left::Stopped));
    let (_stop, running) = sweep(mandate.clone());
    lost.stop();
    assert!(matches!(running.await.unwrap(), Left::Lost(_)));
    // A right that is over and was not told to be.
    lease.release().await.unwrap();
    let (_stop, running) = sweep(Mandate::new(mandate.fence().clone(), Stop::new()));
    assert!(matches!(running.await.unwrap(), Left::Refused(_)));
}

/// A history without an end, and when it was asked to forget which part of it.
#[derive(Debug)]
struct Endless {
    inner: Arc<dyn LeaseAdmin>,
    asked: Mutex<Vec<(Option<HistoryId>, Instant)>>,
}

/// How many lines each step forgets: no other sweeper of this process counts by it.
const LINES: u64 = 1_000_003;

#[async_trait]
impl LeaseAdmin for Endless {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        self.inner.list(page).await
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        self.inner.history(name, before, limit).await
    }

    async fn forget_history(
        &self,
        _: Duration,
        after: Option<HistoryId>,
        _: u32,
    ) -> Result<Forgotten, StoreError> {
        self.asked.lock().unwrap().push((after, Instant::now()));
        Ok(Forgotten { lines: LINES, resume: Some(HistoryId(after.map_or(0, |after| after.0) + 1)) })
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        self.inner.revoke(name, by, force).await
    }
}

#[tokio::test]
async fn a_long_history_is_forgotten_round_by_round_and_shows_that_it_gets_on() {
    let database = database();
    let endless = Arc::new(Endless { inner: database.admin(), asked: Mutex::default() });
    let every = Duration::from_secs(1);
    let retention = Retention { inbox: None, every, ..Retention::default() };
    let sweeper = Sweeper::new(database.outbox(), retention, &quick(None)).unwrap();
    let sweeper = sweeper.keeping_history(endless.clone(), Duration::ZERO);
    let stop = Stop::new();
    let (working, theirs) = (sweeper.clone(), stop.clone());
    let running = tokio::spawn(async move { working.run(&theirs).await });
    let asked = || endless.asked.lock().unwrap().len();
    until("it is in its first round", || asked() >= 20).await;
    let beat = runners().list().into_iter().find(|beat| {
        let swept = beat.counters.get("swept").copied().unwrap_or_default();
        swept > 0 && swept.is_multiple_of(LINES)
    });
    let beat = beat.expect("a beat that counts what is forgotten");
    let began = endless.asked.lock().unwrap()[0].1;
    assert!(beat.advanced_ago.unwrap() < began.elapsed(), "it got on since: {beat:?}");
    until("it is in its second round", || asked() >= 110).await;
    stop.stop();
    running.await.unwrap();
    let asked = endless.asked.lock().unwrap();
    let (first, rest) = asked.split_first().unwrap();
    assert_eq!(first.0, None);
    for ((after, _), number) in rest.iter().zip(1..) {
        assert_eq!(*after, Some(HistoryId(number)), "each step goes on where the last one ended");
    }
    let pauses = asked.windows(2).filter(|two| two[1].1 - two[0].1 >= every).count();
    assert_eq!(pauses, 1, "the outbox is swept between two rounds");
}

#[tokio::test]
async fn s15_a_sweeper_forgets_old_history_and_keeps_the_last_term_of_each_lease() {
    let database = database();
    let registrar = Registrar::new(&database);
    for _ in 0..3 {
        let (lease, ..) = registrar.grants("often").await;
        lease.release().await.unwrap();
    }
    let retention = Retention { inbox: None, ..Retention::default() };
    let keeps = |keep: Duration| {
        let sweeper = Sweeper::new(database.outbox(), retention.clone(), &quick(None)).unwrap();
        sweeper.keeping_history(database.admin(), keep)
    };
    let lines = async || database.admin().history(None, None, 100).await.unwrap();
    for (keep, swept, left) in [(Duration::from_secs(3_600), 0, 6), (Duration::ZERO, 4, 2)] {
        let (sweeper, stop) = (keeps(keep), Stop::new());
        let (working, theirs) = (sweeper.clone(), stop.clone());
        let running = tokio::spawn(async move { working.run(&theirs).await });
        until("it is swept", || sweeper.swept() >= swept).await;
        stop.stop();
        running.await.unwrap();
        assert_eq!((sweeper.swept(), lines().await.len()), (swept, left), "{keep:?}");
    }
    assert!(lines().await.iter().all(|line| line.term.get() == 3), "{:?}", lines().await);
}

#[test]
fn s55_a_sweeper_must_not_let_inboxes_forget_what_may_come_again() {
    let retention = Retention { inbox: Some(Duration::from_secs(1)), ..Retention::default() };
    assert!(Sweeper::new(database().outbox(), retention, &quick(None)).is_err());
}

async fn append(database: &Database, kind: &str) {
    let event = NewEvent::json(tenure::new_id(), kind, "{}");
    let append = Append::new(StreamName::new("s").unwrap(), Expected::Any, vec![event]);
    let _ = Events::new(database.events()).append(&append).await.unwrap();
}

#[tokio::test]
async fn a_subscription_works_under_a_given_right_and_goes_on_where_another_stopped() {
    let database = database();
    let registrar = Registrar::new(&database);
    let seen: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let hang = Arc::new(tokio::sync::Notify::new());
    let (notes, holds) = (seen.clone(), hang.clone());
    let handling = handler(move |event| {
        let (notes, holds) = (notes.clone(), holds.clone());
        Box::pin(async move {
            notes.lock().unwrap().push(event.kind.clone());
            if event.kind == "Hang" {
                holds.notified().await;
            }
            Ok(())
        })
    });
    let settings =
        SubscriptionSettings { deadline: Duration::from_millis(50), ..SubscriptionSettings::default() };
    let events = Events::new(database.events());
    let subscription = Subscription::new("sub", events, database.checkpoints(), handling, settings).unwrap();
    let begin = |mandate: Mandate| {
        let (subscription, stop) = (subscription.clone(), Stop::new());
        let theirs = stop.clone();
        (stop, tokio::spawn(async move { subscription.run_under(&mandate, &theirs).await.unwrap() }))
    };
    let count = || seen.lock().unwrap().len();

    let (lease, mandate, _) = registrar.grants("subscription/sub").await;
    let (stop, running) = begin(mandate);
    append(&database, "One").await;
    until("the first is handled", || count() == 1).await;
    stop.stop();
    assert!(matches!(running.await.unwrap(), Left::Stopped));
    lease.release().await.unwrap();

    let (lease, mandate, lost) = registrar.grants("subscription/sub").await;
    let (stop, running) = begin(mandate.clone());
    append(&database, "Two").await;
    until("the second is handled", || count() == 2).await;
    append(&database, "Hang").await;
    until("the third is late", || subscription.status().trouble.is_some()).await;
    stop.stop();
    let Left::Unsettled(in_air) = running.await.unwrap() else { panic!("a handling goes on") };
    assert!(in_air.count() >= 1);
    while in_air.count() > 0 {
        hang.notify_waiters();
        tokio::time::sleep(Duration::from_millis(2)).await; // passes time: the handling ends in a task of its own
    }
    lost.stop();
    let (_stop, running) = begin(mandate.clone());
    assert!(matches!(running.await.unwrap(), Left::Lost(_)));
    lease.release().await.unwrap();
    let (_stop, running) = begin(Mandate::new(mandate.fence().clone(), Stop::new()));
    assert!(matches!(running.await.unwrap(), Left::Refused(_)));
    assert_eq!(seen.lock().unwrap()[..2], ["One", "Two"], "each once");
}
