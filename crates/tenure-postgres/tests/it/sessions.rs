//! Sessions: the probe, presence, watches and session locks.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore as _, Presence as _, Raise, SessionLocks as _, Watch};
use tenure_core::lease::{Flag, Term};
use tenure_postgres::{PostgresStore, Sessions};

use crate::sandbox::{Mode, Sandbox, name, unique};

const IDLE: Duration = Duration::from_secs(5);
const PATIENT: Duration = Duration::from_secs(30);

fn flag(session: tenure_core::id::Unique) -> Flag {
    Flag { lease: name("job"), term: Term::FIRST, session }
}

#[tokio::test]
async fn s21_the_probe_tells_a_pooler_from_a_direct_connection() {
    let Some(direct) = Sandbox::empty(Mode::Direct) else { return };
    let store = direct.store().await;
    let capabilities = store.capabilities();
    assert!(capabilities.presence && capabilities.fence_in_transaction, "{capabilities:?}");
    assert!(store.presence().is_some());
    let Some(pooled) = Sandbox::empty(Mode::Pooled) else { return };
    for _ in 0..5 {
        let store = pooled.store().await;
        let capabilities = store.capabilities();
        assert!(!capabilities.presence && !capabilities.silence && capabilities.fence_in_transaction);
        assert!(capabilities.notes[0].contains("pooler"), "{capabilities:?}");
        assert!(store.presence().is_none());
    }
}

#[tokio::test]
async fn s21_the_probe_finds_a_pooler_while_many_use_it() {
    let Some(pooled) = Sandbox::empty(Mode::Pooled) else { return };
    for crowd in [1, 3, 9] {
        let noise: Vec<_> = (0..crowd)
            .map(|_| {
                let url = pooled.url.clone();
                tokio::spawn(async move {
                    let client = crate::sandbox::connect(&url).await;
                    loop {
                        client.batch_execute("SELECT 1").await.unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            assert!(pooled.store().await.presence().is_none(), "in a crowd of {crowd}");
        }
        noise.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test]
async fn s21_session_locks_refuse_a_pooler_and_say_what_to_do() {
    let Some(pooled) = Sandbox::empty(Mode::Pooled) else { return };
    let refusal = |error: StoreError| {
        assert!(
            matches!(&error, StoreError::Pooled { instead, .. } if instead.contains("use a lease")),
            "{error:?}"
        );
    };
    refusal(pooled.store().await.session_locks().await.unwrap_err());
    // Even if someone has said that sessions are real.
    let mut options = pooled.options();
    options.sessions = Sessions::Real;
    let store = PostgresStore::connect(options).await.unwrap();
    refusal(store.session_locks().await.unwrap_err());
    let mut options = pooled.options();
    options.sessions = Sessions::Pooled;
    let store = PostgresStore::connect(options).await.unwrap();
    refusal(store.open(unique(), IDLE).await.unwrap_err());
}

/// s02: however a session ends, whoever watches its flag knows within milliseconds.
#[tokio::test]
async fn s02_a_flag_falls_when_it_is_lowered_closed_dropped_or_killed() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, other) = (sandbox.store().await, sandbox.store().await);
    for end in ["lower", "close", "drop", "kill"] {
        let session = store.open(unique(), IDLE).await.unwrap();
        let flag = flag(session.id());
        assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised);
        assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised, "a flag is raised once");
        let (watcher, watched) = (other.clone(), flag.clone());
        let watch = tokio::spawn(async move { (watcher.watch(&watched, PATIENT).await, Instant::now()) });
        // passes time: enough for a watch that does not wait
        tokio::time::sleep(Duration::from_millis(100)).await;
        session.ping().await.unwrap();
        assert!(!watch.is_finished(), "{end}");
        let kill = (end == "kill").then(|| sandbox.terminate("presence"));
        let began = Instant::now();
        match end {
            "lower" => session.lower(&flag).await.unwrap(),
            "close" => session.close().await,
            "drop" => drop(session),
            _ => assert_eq!(kill.unwrap().await, 1),
        }
        let (outcome, at) = watch.await.unwrap();
        assert_eq!(outcome.unwrap(), Watch::Fallen, "{end}");
        eprintln!("a watch returned {:?} after {end}", at - began);
        assert!(at - began < Duration::from_millis(500), "{end}: {:?}", at - began);
    }
}

#[tokio::test]
async fn s02_a_killed_session_is_broken_for_good() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let session = store.open(unique(), IDLE).await.unwrap();
    session.ping().await.unwrap();
    sandbox.terminate("presence").await;
    // passes time: lets word of the end arrive
    tokio::time::sleep(Duration::from_millis(50)).await;
    for _ in 0..2 {
        assert!(matches!(session.ping().await, Err(StoreError::Unreachable { .. })));
    }
    assert!(session.raise(&flag(session.id())).await.is_err());
}

/// A frozen process does not ping; the server ends its session by itself.
#[tokio::test]
async fn s01_a_silent_session_is_ended_by_the_server() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    if !store.capabilities().silence {
        return eprintln!("this server cannot end silent sessions");
    }
    let session = store.open(unique(), Duration::from_millis(400)).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let began = Instant::now();
    assert_eq!(store.watch(&flag, PATIENT).await.unwrap(), Watch::Fallen);
    let took = began.elapsed();
    assert!(took > Duration::from_millis(300) && took < Duration::from_secs(2), "{took:?}");
    assert!(session.ping().await.is_err());
}

#[tokio::test]
async fn a_watch_ends_with_its_patience_and_its_connection_serves_again() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let session = store.open(unique(), IDLE).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    for patience in [0, 1, 150, 150] {
        let patience = Duration::from_millis(patience);
        let began = Instant::now();
        assert_eq!(store.watch(&flag, patience).await.unwrap(), Watch::StillUp);
        assert!(began.elapsed() >= patience && began.elapsed() < patience + Duration::from_millis(400));
    }
    assert_eq!(sandbox.processes(" watch").await, 1);
    session.lower(&flag).await.unwrap();
    assert_eq!(store.watch(&flag, Duration::ZERO).await.unwrap(), Watch::Fallen);
    assert_eq!(sandbox.processes(" watch").await, 1);
}

#[tokio::test]
async fn a_dropped_watch_leaves_the_server() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let session = store.open(unique(), PATIENT).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    for _ in 0..3 {
        let watch = tokio::time::timeout(Duration::from_millis(100), store.watch(&flag, PATIENT)).await;
        assert!(watch.is_err());
    }
    let began = Instant::now();
    while sandbox.processes(" watch").await > 0 {
        assert!(began.elapsed() < Duration::from_secs(4), "the server still waits");
        // passes time: between two looks
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn there_is_a_limit_on_watches() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let mut options = sandbox.options();
    options.max_watches = 2;
    let store = PostgresStore::connect(options).await.unwrap();
    let session = store.open(unique(), PATIENT).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    let watches: Vec<_> = (0..2)
        .map(|_| {
            let (store, flag) = (store.clone(), flag.clone());
            tokio::spawn(async move { store.watch(&flag, Duration::from_secs(1)).await })
        })
        .collect();
    // passes time: lets the watches reach the server
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(matches!(store.watch(&flag, Duration::from_secs(1)).await, Err(StoreError::Busy { .. })));
    for watch in watches {
        assert_eq!(watch.await.unwrap().unwrap(), Watch::StillUp);
    }
}

/// Nodes that name the same table with and without its schema must agree on its flags.
#[tokio::test]
async fn flags_belong_to_the_table_however_it_is_named() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let mut options = sandbox.options();
    options.naming.schema = tenure_core::naming::Identifier::new("schema", "public").ok();
    let other = PostgresStore::connect(options).await.unwrap();
    let session = store.open(unique(), IDLE).await.unwrap();
    let flag = flag(session.id());
    session.raise(&flag).await.unwrap();
    assert_eq!(other.watch(&flag, Duration::from_millis(50)).await.unwrap(), Watch::StillUp);
}

#[tokio::test]
async fn s02_a_session_lock_is_lost_with_its_session_and_known_to_be() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let locks = sandbox.store().await.session_locks().await.unwrap();
    let lock = locks.try_lock(&name("job")).await.unwrap().expect("it is free");
    assert!(lock.is_held());
    assert!(locks.try_lock(&name("job")).await.unwrap().is_none());
    let began = Instant::now();
    assert!(sandbox.terminate("lock").await >= 1);
    tokio::time::timeout(Duration::from_secs(5), lock.lost()).await.expect("it is lost");
    eprintln!("a lost session lock was known after {:?}", began.elapsed());
    assert!(!lock.is_held() && began.elapsed() < Duration::from_millis(500));
    lock.unlock().await.expect("there is nothing to give back");
    assert!(locks.lock(&name("job"), PATIENT).await.unwrap().is_some());
}
