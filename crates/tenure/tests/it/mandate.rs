//! Work under a right that somebody else obtained: how it ends, and that it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::core::outbox::Limits;
use tenure::event::{Append, Expected, NewEvent, StreamName};
use tenure::{
    Database, Depot, Events, Left, Mandate, RelaySettings, Retention, Stop, Subscription,
    SubscriptionSettings, Sweeper, handler,
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
