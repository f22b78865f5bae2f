//! Links that go silent (bytes are taken and nothing ever comes back, as behind a dead proxy or a dropped route), and
//! proxies that share connections.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore as _, PresenceSession, SessionLocks as _, Watch};
use tenure_core::lease::{Flag, Renew, Term};
use tenure_mysql::{MySqlOptions, MySqlStore};
use tenure_sql::SqlStore;

use crate::bed::{Bed, NOT_FRESH, claim, granted, name, on_both, renewal, unique};
use crate::proxy::{Proxy, address, multiplexing, through};
use crate::sandbox::Server;

on_both!(
    s08_a_call_over_a_silent_link_ends_and_the_next_one_has_a_new_link,
    many_idle_links_that_went_silent_cost_one_look,
    a_call_that_was_dropped_over_a_silent_link_lets_go_of_it,
    a_watch_over_a_silent_link_ends_soon_after_its_patience,
    a_watch_costs_one_round_trip,
    a_watch_over_a_link_that_has_died_meanwhile_is_tried_again_on_a_new_one,
    s02_a_session_lock_over_a_silent_link_counts_as_lost,
    s21_a_proxy_that_multiplexes_is_found_out,
);

async fn behind_a_proxy(server: Server) -> Option<(Bed, Proxy, MySqlStore)> {
    let bed = Bed::new(server).await?;
    let proxy = Proxy::before(address(&bed.url)).await;
    let mut options = MySqlOptions::from_url(&through(&bed.url, proxy.port)).unwrap();
    options.naming = bed.options().naming;
    options.lock_timeout = Duration::from_secs(1);
    options.statement_timeout = Duration::from_millis(1500);
    options.connect_timeout = Duration::from_secs(1);
    let store = MySqlStore::connect(options).await.unwrap();
    Some((bed, proxy, store))
}

async fn watch(store: &SqlStore, flag: &Flag, patience: Duration) -> Result<Watch, StoreError> {
    store.presence().expect("presence").watch(flag, patience).await
}

async fn s08_a_call_over_a_silent_link_ends_and_the_next_one_has_a_new_link(server: Server) {
    let Some((_bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let store = store.sql();
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(60))).await.unwrap());
    proxy.silence(true);
    let began = Instant::now();
    let answer = store.renew(&grant, &renewal(1)).await;
    assert!(matches!(answer, Err(StoreError::Unreachable { .. })), "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    proxy.silence(false);
    assert_eq!(store.renew(&grant, &renewal(2)).await.unwrap(), Renew::Extended);
}

/// A heartbeat must not ask one dead connection after the other.
async fn many_idle_links_that_went_silent_cost_one_look(server: Server) {
    let Some((_bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let store = store.sql();
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(60))).await.unwrap());
    let driver = store.driver();
    let mut lent = Vec::new();
    for _ in 0..8 {
        lent.push(driver.lend(tenure_sql::Turn::Traffic).await.unwrap());
    }
    lent.into_iter().for_each(|lent| lent.give_back());
    // passes time: idle connections are asked whether they live
    tokio::time::sleep(NOT_FRESH).await;
    proxy.silence(true);
    proxy.said();
    let renewing = {
        let (store, grant) = (store.clone(), grant.clone());
        tokio::spawn(async move { store.renew(&grant, &renewal(1)).await })
    };
    while proxy.said().is_empty() {
        tokio::task::yield_now().await;
    }
    proxy.silence(false);
    let began = Instant::now();
    assert_eq!(renewing.await.unwrap().unwrap(), Renew::Extended);
    assert!(began.elapsed() < Duration::from_millis(1700), "{:?}", began.elapsed());
}

/// Whoever gave up does not leave connections behind that wait for ever.
async fn a_call_that_was_dropped_over_a_silent_link_lets_go_of_it(server: Server) {
    let Some((bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let store = store.sql();
    granted(store.try_acquire(&claim("job", Duration::from_secs(60))).await.unwrap());
    proxy.silence(true);
    for _ in 0..5 {
        let look = tokio::time::timeout(Duration::from_millis(50), store.observe(&name("job"))).await;
        assert!(look.is_err(), "nobody answers");
    }
    proxy.silence(false);
    let began = Instant::now();
    store.observe(&name("job")).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    let opened = proxy.opened.load(Ordering::SeqCst);
    for _ in 0..5 {
        store.observe(&name("job")).await.unwrap();
    }
    assert_eq!(proxy.opened.load(Ordering::SeqCst), opened, "connections are used again");
    drop(bed);
}

async fn a_watch_over_a_silent_link_ends_soon_after_its_patience(server: Server) {
    let Some((_bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let store = store.sql().clone();
    let session = store.presence().unwrap().open(unique(), Duration::from_secs(60)).await.unwrap();
    let flag = Flag { lease: name("job"), term: Term::FIRST, session: session.id() };
    session.raise(&flag).await.unwrap();
    let (watcher, watched) = (store.clone(), flag.clone());
    let watch = tokio::spawn(async move { watch(&watcher, &watched, Duration::from_millis(800)).await });
    // passes time: lets the watch reach the server
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    proxy.silence(true);
    let answer = watch.await.unwrap();
    assert!(matches!(answer, Err(StoreError::Unreachable { .. })), "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    // Closing a session does not wait for the answer to a step that is under way.
    let began = Instant::now();
    let stuck = Arc::clone(&session);
    let raise = tokio::spawn(async move { stuck.raise(&Flag { term: Term::new(2).unwrap(), ..flag }).await });
    // passes time: lets the step get under way
    tokio::time::sleep(Duration::from_millis(100)).await;
    session.close().await;
    assert!(raise.await.unwrap().is_err());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// A flag that is up, and a link that has served a watch of it.
async fn watched_before(store: &SqlStore) -> (Arc<dyn PresenceSession>, Flag) {
    let session = store.presence().unwrap().open(unique(), Duration::from_secs(60)).await.unwrap();
    let flag = Flag { lease: name("job"), term: Term::FIRST, session: session.id() };
    session.raise(&flag).await.unwrap();
    assert_eq!(watch(store, &flag, Duration::from_millis(20)).await.unwrap(), Watch::StillUp);
    (session, flag)
}

/// A waiting node watches all day long: what each watch costs counts. Only a wait that was broken off costs one more.
async fn a_watch_costs_one_round_trip(server: Server) {
    let Some((_bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let store = store.sql();
    let (session, flag) = watched_before(store).await;
    for patience in [0, 50, 333] {
        proxy.said();
        let patience = Duration::from_millis(patience);
        assert_eq!(watch(store, &flag, patience).await.unwrap(), Watch::StillUp);
        let said = proxy.said();
        // One statement that has the lock and lets it go.
        let asked = ["GET_LOCK", "RELEASE_LOCK", "SELECT"].map(|word| said.matches(word).count());
        assert_eq!(asked, [1, 1, 1], "{patience:?}: {said:?}");
    }
    session.lower(&flag).await.unwrap();
    proxy.said();
    assert_eq!(watch(store, &flag, Duration::from_secs(1)).await.unwrap(), Watch::Fallen);
    let said = proxy.said();
    assert_eq!((said.matches("GET_LOCK").count(), said.matches("SELECT").count()), (1, 1), "{said:?}");
}

/// The link went silent since the last watch; the server did not.
async fn a_watch_over_a_link_that_has_died_meanwhile_is_tried_again_on_a_new_one(server: Server) {
    let Some((bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let store = store.sql().clone();
    let (session, flag) = watched_before(&store).await;
    let watching = |patience| {
        let (store, flag) = (store.clone(), flag.clone());
        tokio::spawn(async move { watch(&store, &flag, Duration::from_millis(patience)).await })
    };
    proxy.said();
    proxy.silence(true);
    let silent = watching(300);
    while !proxy.said().contains("GET_LOCK") {
        tokio::task::yield_now().await;
    }
    // What was just said is swallowed, and so is all else on that link.
    proxy.silence(false);
    assert_eq!(silent.await.unwrap().unwrap(), Watch::StillUp);

    // Ended by the server in the middle of a watch.
    let began = Instant::now();
    let ended = watching(1000);
    while bed.kill("Query").await == 0 {}
    assert_eq!(ended.await.unwrap().unwrap(), Watch::StillUp);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1000) && took < Duration::from_millis(1400), "{took:?}");

    // Ended between two watches, and the flag has fallen since, with its session.
    bed.kill("Sleep").await;
    assert_eq!(watching(1000).await.unwrap().unwrap(), Watch::Fallen);
    drop(session);
}

async fn s02_a_session_lock_over_a_silent_link_counts_as_lost(server: Server) {
    let Some((_bed, proxy, store)) = behind_a_proxy(server).await else { return };
    let locks = store.session_locks().await.unwrap();
    let lock = locks.try_lock(&name("job")).await.unwrap().expect("it is free");
    // passes time: more than a ping of the lock
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert!(lock.is_held(), "pings are answered");
    proxy.silence(true);
    tokio::time::timeout(Duration::from_secs(6), lock.lost()).await.expect("silence is noticed");
    assert!(!lock.is_held());
}

/// Where locks do not exclude, nobody relies on them: leases work, and what does not is said.
async fn s21_a_proxy_that_multiplexes_is_found_out(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let port = multiplexing(address(&bed.url)).await;
    let mut options = MySqlOptions::from_url(&through(&bed.url, port)).unwrap();
    options.naming = bed.options().naming;
    let store = MySqlStore::connect(options).await.unwrap();
    let capabilities = store.sql().capabilities();
    assert!(!capabilities.presence && !capabilities.silence && capabilities.fence_in_transaction);
    assert!(capabilities.notes[0].contains("shares connections"), "{capabilities:?}");
    assert!(store.sql().presence().is_none());
    let refused = store.session_locks().await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::Pooled { instead, .. } if instead.contains("use a lease")),
        "{refused}"
    );
}
