//! Sessions: presence, watches and session locks.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore as _, Presence, Raise, SessionLocks as _, Watch};
use tenure_core::lease::{Flag, Term};
use tenure_core::naming::Identifier;
use tenure_mysql::MySqlStore;
use tenure_sql::SqlStore;

use crate::bed::{Bed, name, on_both, unique};
use crate::sandbox::Server;

const IDLE: Duration = Duration::from_secs(5);
const PATIENT: Duration = Duration::from_secs(30);

on_both!(
    s02_a_flag_falls_when_it_is_lowered_closed_dropped_or_killed,
    s02_a_killed_session_is_broken_for_good,
    s01_a_silent_session_is_ended_by_the_server,
    a_watch_ends_with_its_patience_and_its_connection_serves_again,
    all_who_watch_a_flag_learn_of_its_fall,
    a_flag_that_many_watch_is_seen_to_be_down,
    a_dropped_watch_leaves_the_server,
    a_watch_that_ends_as_the_flag_falls_keeps_no_lock,
    there_is_a_limit_on_watches,
    flags_belong_to_the_table_however_it_is_named,
    s02_a_session_lock_is_lost_with_its_session_and_known_to_be,
    a_wait_for_a_session_lock_ends_with_its_patience,
);

fn flag(session: tenure_core::id::Unique) -> Flag {
    Flag { lease: name("job"), term: Term::FIRST, session }
}

fn presence(store: &SqlStore) -> &dyn Presence {
    store.presence().expect("presence")
}

/// s02: however a session ends, whoever watches its flag knows within milliseconds.
async fn s02_a_flag_falls_when_it_is_lowered_closed_dropped_or_killed(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let (store, other) = (bed.sql().await, bed.sql().await);
    assert!(store.capabilities().presence && store.capabilities().silence);
    for end in ["lower", "close", "drop", "kill"] {
        let session = presence(&store).open(unique(), IDLE).await.unwrap();
        let flag = flag(session.id());
        assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised);
        assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised, "a flag is raised once");
        let (watcher, watched) = (other.clone(), flag.clone());
        let watch =
            tokio::spawn(async move { (presence(&watcher).watch(&watched, PATIENT).await, Instant::now()) });
        // passes time: enough for a watch that does not wait
        tokio::time::sleep(Duration::from_millis(100)).await;
        session.ping().await.unwrap();
        assert!(!watch.is_finished(), "{end}");
        let began = Instant::now();
        match end {
            "lower" => session.lower(&flag).await.unwrap(),
            "close" => session.close().await,
            "drop" => drop(session),
            _ => assert!(bed.kill("Sleep").await >= 1),
        }
        let (outcome, at) = watch.await.unwrap();
        assert_eq!(outcome.unwrap(), Watch::Fallen, "{end}");
        eprintln!("{server:?}: a watch returned {:?} after {end}", at - began);
        assert!(at - began < Duration::from_millis(500), "{end}: {:?}", at - began);
    }
}

async fn s02_a_killed_session_is_broken_for_good(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let session = presence(&store).open(unique(), IDLE).await.unwrap();
    session.ping().await.unwrap();
    assert!(bed.kill("Sleep").await >= 1);
    for _ in 0..2 {
        assert!(matches!(session.ping().await, Err(StoreError::Unreachable { .. })));
    }
    assert!(session.raise(&flag(session.id())).await.is_err());
}

/// A frozen process does not ping; the server ends its session by itself, after whole seconds.
async fn s01_a_silent_session_is_ended_by_the_server(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let session = presence(&store).open(unique(), Duration::from_millis(1100)).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let began = Instant::now();
    assert_eq!(presence(&store).watch(&flag, PATIENT).await.unwrap(), Watch::Fallen);
    let took = began.elapsed();
    eprintln!("{server:?}: a silent session was ended after {took:?}");
    assert!(took > Duration::from_millis(1050) && took < Duration::from_secs(4), "{took:?}");
    assert!(session.ping().await.is_err());
}

/// Also where the server counts in whole seconds.
async fn a_watch_ends_with_its_patience_and_its_connection_serves_again(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let session = presence(&store).open(unique(), IDLE).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let before = bed.sessions("%").await.len();
    for patience in [0, 1, 150, 150, 600, 1400] {
        let patience = Duration::from_millis(patience);
        let began = Instant::now();
        assert_eq!(presence(&store).watch(&flag, patience).await.unwrap(), Watch::StillUp);
        let took = began.elapsed();
        assert!(took >= patience && took < patience + Duration::from_millis(300), "{patience:?}: {took:?}");
        session.ping().await.unwrap();
    }
    assert_eq!(bed.sessions("%").await.len(), before + 1);
    session.lower(&flag).await.unwrap();
    assert_eq!(presence(&store).watch(&flag, Duration::ZERO).await.unwrap(), Watch::Fallen);
    assert_eq!(bed.sessions("%").await.len(), before + 1);
    assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised, "whoever watched has let go");
}

/// Each has the lock for a moment, one after the other.
async fn all_who_watch_a_flag_learn_of_its_fall(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let (store, other) = (bed.sql().await, bed.sql().await);
    let session = presence(&store).open(unique(), IDLE).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let watches: Vec<_> = (0..12)
        .map(|number| {
            let (store, flag) = (if number < 6 { &store } else { &other }.clone(), flag.clone());
            tokio::spawn(async move { (presence(&store).watch(&flag, PATIENT).await, Instant::now()) })
        })
        .collect();
    while bed.sessions("Query").await.len() < 12 {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    session.close().await;
    let mut last = Duration::ZERO;
    for watch in watches {
        let (outcome, at) = watch.await.unwrap();
        assert_eq!(outcome.unwrap(), Watch::Fallen);
        last = last.max(at - began);
    }
    eprintln!("{server:?}: the last of 12 watches returned {last:?} after the fall");
    assert!(last < Duration::from_millis(500), "{last:?}");
}

/// One who watches has the lock for a moment, which must not pass for the holder's flag.
async fn a_flag_that_many_watch_is_seen_to_be_down(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let (store, other) = (bed.sql().await, bed.sql().await);
    let flag = flag(unique());
    let watching: Vec<_> = (0..4)
        .map(|_| {
            let (store, flag) = (other.clone(), flag.clone());
            tokio::spawn(async move {
                loop {
                    presence(&store).watch(&flag, Duration::from_millis(50)).await.unwrap();
                }
            })
        })
        .collect();
    let driver = store.driver();
    for _ in 0..200 {
        let mut lent = driver.lend(tenure_sql::Turn::Work).await.unwrap();
        assert!(driver.flag_is_down(&mut *lent, &flag).await.unwrap());
        lent.give_back();
    }
    watching.iter().for_each(tokio::task::JoinHandle::abort);
}

/// The server breaks a watch off by its own clock, perhaps in the very moment in which it has the lock.
async fn a_watch_that_ends_as_the_flag_falls_keeps_no_lock(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let session = presence(&store).open(unique(), PATIENT).await.unwrap();
    let flag = flag(session.id());
    let mut fallen = 0;
    for round in 0..300_u64 {
        while session.raise(&flag).await.unwrap() == Raise::Collided {
            // passes time: another watch has it for a moment
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let patience = Duration::from_millis(4);
        let watches: Vec<_> = (0..2)
            .map(|_| {
                let (store, flag) = (store.clone(), flag.clone());
                tokio::spawn(async move { presence(&store).watch(&flag, patience).await.unwrap() })
            })
            .collect();
        // passes time: until about the moment in which the patience ends
        tokio::time::sleep(Duration::from_micros(2_500 + round * 10)).await;
        session.lower(&flag).await.unwrap();
        for watch in watches {
            fallen += u32::from(watch.await.unwrap() == Watch::Fallen);
        }
        let mut lent = store.driver().lend(tenure_sql::Turn::Work).await.unwrap();
        assert!(store.driver().flag_is_down(&mut *lent, &flag).await.unwrap(), "round {round}");
        lent.give_back();
    }
    eprintln!("{server:?}: {fallen} of 600 watches saw the flag fall");
    assert!((1..600).contains(&fallen), "{fallen}: the moment was missed");
}

async fn a_dropped_watch_leaves_the_server(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let session = presence(&store).open(unique(), PATIENT).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    for _ in 0..3 {
        let watch = presence(&store).watch(&flag, PATIENT);
        assert!(tokio::time::timeout(Duration::from_millis(100), watch).await.is_err());
    }
    let began = Instant::now();
    while !bed.sessions("Query").await.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(7), "the server still waits");
        // passes time: between two looks
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eprintln!("{server:?}: a dropped watch had left after {:?}", began.elapsed());
}

async fn there_is_a_limit_on_watches(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let mut options = bed.options();
    options.max_watches = 2;
    let store = MySqlStore::connect(options).await.unwrap().sql().clone();
    let session = presence(&store).open(unique(), PATIENT).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let watches: Vec<_> = (0..2)
        .map(|_| {
            let (store, flag) = (store.clone(), flag.clone());
            tokio::spawn(async move { presence(&store).watch(&flag, Duration::from_secs(1)).await })
        })
        .collect();
    while bed.sessions("Query").await.len() < 2 {
        tokio::task::yield_now().await;
    }
    let third = presence(&store).watch(&flag, Duration::from_secs(1)).await;
    assert!(matches!(third, Err(StoreError::Busy { .. })), "{third:?}");
    for watch in watches {
        assert_eq!(watch.await.unwrap().unwrap(), Watch::StillUp);
    }
}

/// Nodes that name the same table with and without its database must agree on its flags, and others have their own.
async fn flags_belong_to_the_table_however_it_is_named(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let mut options = bed.options();
    let (_, database) = bed.url.rsplit_once('/').unwrap();
    options.naming.schema = Some(Identifier::new("schema", database).unwrap());
    let other = MySqlStore::connect(options.clone()).await.unwrap().sql().clone();
    let session = presence(&store).open(unique(), IDLE).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let watch = presence(&other).watch(&flag, Duration::from_millis(50)).await;
    assert_eq!(watch.unwrap(), Watch::StillUp);
    options.naming.prefix = Identifier::new("prefix", "elsewhere_").unwrap();
    let elsewhere = MySqlStore::connect(options).await.unwrap().sql().clone();
    let watch = presence(&elsewhere).watch(&flag, Duration::from_millis(50)).await;
    assert_eq!(watch.unwrap(), Watch::Fallen);
}

async fn s02_a_session_lock_is_lost_with_its_session_and_known_to_be(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let locks = bed.store().await.session_locks().await.unwrap();
    let lock = locks.try_lock(&name("job")).await.unwrap().expect("it is free");
    assert!(lock.is_held());
    assert!(locks.try_lock(&name("job")).await.unwrap().is_none());
    let began = Instant::now();
    assert!(bed.kill("Sleep").await >= 1);
    tokio::time::timeout(Duration::from_secs(5), lock.lost()).await.expect("it is lost");
    eprintln!("{server:?}: a lost session lock was known after {:?}", began.elapsed());
    assert!(!lock.is_held() && began.elapsed() < Duration::from_secs(1));
    lock.unlock().await.expect("there is nothing to give back");
    let next = locks.lock(&name("job"), PATIENT).await.unwrap().expect("it is free");
    next.unlock().await.unwrap();
    assert!(locks.try_lock(&name("job")).await.unwrap().is_some(), "while the old one is still there");
}

async fn a_wait_for_a_session_lock_ends_with_its_patience(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let locks = bed.store().await.session_locks().await.unwrap();
    let lock = locks.try_lock(&name("job")).await.unwrap().expect("it is free");
    for patience in [0, 150, 700, 1200] {
        let (began, patience) = (Instant::now(), Duration::from_millis(patience));
        assert!(locks.lock(&name("job"), patience).await.unwrap().is_none());
        let took = began.elapsed();
        assert!(took >= patience && took < patience + Duration::from_millis(300), "{patience:?}: {took:?}");
    }
    let (sender, receiver) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let got = locks.lock(&name("job"), PATIENT).await.unwrap().is_some();
        let _ = sender.send((got, Instant::now()));
    });
    // passes time: lets the wait reach the server
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    lock.unlock().await.unwrap();
    let (got, at) = receiver.await.unwrap();
    assert!(got && at - began < Duration::from_millis(300), "{:?}", at - began);
}
