//! Changing the URL is the whole change: one program over every database.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tenure::core::naming::Naming;
use tenure::core::outbox::Limits;
use tenure::event::{Append, AppendAnswer, Expected, NewEvent, Position, StreamName};
use tenure::sink::Handlers;
use tenure::{
    Acquired, Cluster, Database, Events, LeaseSettings, Leases, NewMessage, OpenError, OpenOptions, Relay,
    RelaySettings, Stop, Subscription, SubscriptionSettings, Verdict, agent, handler, local_node,
};

use crate::server::Place;

#[tokio::test(flavor = "multi_thread")]
async fn one_program_works_on_sqlite() {
    on("sqlite").await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn one_program_works_on_postgres() {
    on("postgres").await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn one_program_works_on_mariadb() {
    on("mariadb").await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn one_program_works_on_mysql() {
    on("mysql").await;
}

async fn on(name: &str) {
    let Some(place) = Place::of(name) else { return };
    let database = place.open().await;
    leads(&database).await;
    sends(&database).await;
    remembers(&database).await;
    clusters(&database).await;
    place.clean().await;
}

async fn leads(database: &Database) {
    let lease = |node: &str| {
        let leases = Leases::new(database.leases(), local_node(Some(node)).unwrap());
        leases.lease("nightly", LeaseSettings::default()).unwrap()
    };
    let (one, two) = (lease("one"), lease("two"));
    let Acquired::Granted(first) = one.acquire().await.unwrap() else { panic!("it is free") };
    assert!(
        matches!(two.acquire().await.unwrap(), Acquired::Held(holder) if holder.node.name.as_str() == "one")
    );
    one.release().await.unwrap();
    let Acquired::Granted(second) = two.acquire().await.unwrap() else { panic!("it is free again") };
    assert!(second.term > first.term);
    two.release().await.unwrap();
}

async fn sends(database: &Database) {
    let messages: Vec<_> =
        (0..20).map(|n| NewMessage::json("orders", "OrderPlaced", format!("{n}")).from_source("s")).collect();
    database.outbox().enqueue(&messages, &Limits::default()).await.unwrap();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let notes = heard.clone();
    let sink = Handlers::new().otherwise(move |message| {
        let notes = notes.clone();
        Box::pin(async move {
            notes.lock().unwrap().push(String::from_utf8_lossy(message.body.as_bytes()).into_owned());
            Verdict::Accepted
        })
    });
    let node = local_node(Some("relay")).unwrap();
    let lease =
        Leases::new(database.leases(), node.clone()).lease("outbox", LeaseSettings::default()).unwrap();
    let relay = Relay::new(database.outbox(), Arc::new(sink), node.name, RelaySettings::default())
        .unwrap()
        .exclusive(lease);
    let stop = Stop::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { relay.run(&stop).await }
    });
    until("all were delivered", || heard.lock().unwrap().len() == 20).await;
    stop.stop();
    running.await.unwrap().unwrap();
    assert_eq!(*heard.lock().unwrap(), (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    let stats = database.outbox_admin().stats().await.unwrap();
    assert_eq!((stats.pending, stats.dispatched), (0, 20));
}

async fn remembers(database: &Database) {
    let events = Events::new(database.events()).with_outbox();
    let stream = StreamName::of("book", "7").unwrap();
    let lent = |n: u32| NewEvent::json(tenure::new_id(), "Lent", format!("{n}"));
    let append = Append::new(stream.clone(), Expected::NONE, vec![lent(1), lent(2)]);
    assert!(matches!(events.append(&append).await.unwrap(), AppendAnswer::Appended { .. }));
    let again = Append::new(stream, Expected::NONE, vec![lent(3)]);
    assert!(matches!(events.append(&again).await.unwrap(), AppendAnswer::Conflict { .. }));
    let heard: Arc<Mutex<Vec<Position>>> = Arc::default();
    let notes = heard.clone();
    let mails = handler(move |event| {
        let notes = notes.clone();
        let position = event.position;
        Box::pin(async move {
            notes.lock().unwrap().push(position);
            Ok(())
        })
    });
    let settings = SubscriptionSettings::default();
    let subscription = Subscription::new("mails", events, database.checkpoints(), mails, settings).unwrap();
    let stop = Stop::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { subscription.run(&stop).await }
    });
    until("both were handled", || heard.lock().unwrap().len() == 2).await;
    stop.stop();
    running.await.unwrap().unwrap();
    let progress = database.checkpoints().subscriptions(None, 1_000).await.unwrap();
    assert_eq!(progress.len(), 1, "{progress:?}");
}

async fn clusters(database: &Database) {
    let works = Arc::new(Mutex::new(false));
    let seen = works.clone();
    let cluster = Cluster::builder(database.leases(), database.cluster(), local_node(Some("node")).unwrap())
        .daemon(
            "report",
            agent(move |duty| {
                let works = works.clone();
                async move {
                    *works.lock().unwrap() = true;
                    duty.stop.stopped().await;
                    Ok(())
                }
            }),
        )
        .unwrap()
        .start()
        .await
        .unwrap();
    until("the daemon runs", || *seen.lock().unwrap()).await;
    cluster.stop().await;
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await; // passes time: between two looks
    }
}

#[tokio::test]
async fn a_url_that_names_no_database_says_which_are_known() {
    let said = |error: OpenError| error.to_string();
    let unknown = said(tenure::open("oracle://u:secret@h/d", OpenOptions::default()).await.err().unwrap());
    for scheme in ["oracle:", "sqlite:", "postgres:", "mysql:", "mariadb:", "sqlserver:", "memory:"] {
        assert!(unknown.contains(scheme), "{scheme}: {unknown}");
    }
    assert!(!unknown.contains("secret"));
    assert_eq!(said(tenure::migrations("oracle:", &Naming::default()).unwrap_err()), unknown);
    let none = said(tenure::open("app.db", OpenOptions::default()).await.err().unwrap());
    assert!(none.contains("no scheme") && none.contains("mysql://"), "{none}");
}

/// Whatever is left out of a build is told by the feature that brings it.
#[tokio::test]
async fn what_a_build_leaves_out_is_told_by_its_feature() {
    for (url, feature, there) in [
        ("sqlite:/no/such/place/app.db", "sqlite", cfg!(feature = "sqlite")),
        ("postgres://u@127.0.0.1:1/d", "postgres", cfg!(feature = "postgres")),
        ("mysql://u@127.0.0.1:1/d", "mysql", cfg!(feature = "mysql")),
        ("mariadb://u@127.0.0.1:1/d", "mysql", cfg!(feature = "mysql")),
        ("sqlserver://u:p@127.0.0.1:1/d", "sqlserver", cfg!(feature = "sqlserver")),
        ("mssql://u:p@127.0.0.1:1/d", "sqlserver", cfg!(feature = "sqlserver")),
    ] {
        let opened = tenure::open(url, OpenOptions::default()).await.err().unwrap();
        let printed = tenure::migrations(url, &Naming::default());
        if there {
            assert!(matches!(opened, OpenError::Store(_)), "{url}: {opened}");
            assert!(printed.unwrap().contains("tenure_leases"), "{url}");
        } else {
            for error in [opened, printed.unwrap_err()] {
                assert!(
                    matches!(error, OpenError::LeftOut { feature: f, .. } if f == feature),
                    "{url}: {error}"
                );
            }
        }
    }
}
