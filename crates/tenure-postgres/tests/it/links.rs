//! A link that goes silent: bytes are taken and nothing ever comes back, as behind a dead proxy or a dropped route.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore as _, Presence as _, PresenceSession, SessionLocks as _, Watch};
use tenure_core::lease::{Flag, Renew, Term};
use tenure_postgres::PostgresStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::sandbox::{Mode, Sandbox, claim, granted, name, renewal, unique};

/// Passes everything on until it is told to swallow it. New connections pass again once it is told to.
struct Proxy {
    port: u16,
    silent: Arc<AtomicBool>,
    /// All that was said to the server.
    said: Said,
}

type Said = Arc<Mutex<Vec<u8>>>;

impl Proxy {
    async fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let silent = Arc::new(AtomicBool::new(false));
        let said = Said::default();
        let (switch, record) = (Arc::clone(&silent), Arc::clone(&said));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pump(from_client, to_server, Arc::clone(&switch), Arc::clone(&record)));
                tokio::spawn(pump(from_server, to_client, Arc::clone(&switch), Said::default()));
            }
        });
        Self { port, silent, said }
    }

    /// What was said to the server since the last look.
    fn said(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.said.lock().unwrap())).into_owned()
    }
}

/// Once silent, a stream stays silent; its end is not passed on either.
async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    silent: Arc<AtomicBool>,
    said: Said,
) {
    let mut buffer = vec![0; 16 * 1024];
    let mut swallowing = false;
    loop {
        let Ok(read) = from.read(&mut buffer).await else { return };
        said.lock().unwrap().extend(&buffer[..read]);
        swallowing |= silent.load(Ordering::SeqCst);
        match (read, swallowing) {
            (0, false) => return,
            (0, true) => std::future::pending().await,
            (_, true) => {}
            (_, false) => to.write_all(&buffer[..read]).await.unwrap_or(()),
        }
    }
}

async fn behind_a_proxy() -> Option<(Sandbox, Proxy, PostgresStore)> {
    let mut sandbox = Sandbox::new(Mode::Direct).await?;
    let (user, address) =
        sandbox.url.rsplit_once('@').map(|(user, address)| (user.to_owned(), address.to_owned()))?;
    let (server, database) = address.split_once('/').unwrap();
    let proxy = Proxy::before(server.to_owned()).await;
    sandbox.url = format!("{user}@127.0.0.1:{}/{database}", proxy.port);
    let mut options = sandbox.options();
    options.lock_timeout = Duration::from_millis(200);
    options.statement_timeout = Duration::from_millis(500);
    let store = PostgresStore::connect(options).await.unwrap();
    Some((sandbox, proxy, store))
}

#[tokio::test]
async fn s08_a_call_over_a_silent_link_ends_and_the_next_one_has_a_new_link() {
    let Some((_sandbox, proxy, store)) = behind_a_proxy().await else { return };
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(60))).await.unwrap());
    proxy.silent.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let answer = store.renew(&grant, &renewal(1)).await;
    assert!(matches!(answer, Err(StoreError::Unreachable { .. })), "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    proxy.silent.store(false, Ordering::SeqCst);
    assert_eq!(store.renew(&grant, &renewal(2)).await.unwrap(), Renew::Extended);
}

#[tokio::test]
async fn a_watch_over_a_silent_link_ends_soon_after_its_patience() {
    let Some((_sandbox, proxy, store)) = behind_a_proxy().await else { return };
    let session = store.open(unique(), Duration::from_secs(60)).await.unwrap();
    let flag = Flag { lease: name("job"), term: Term::FIRST, session: session.id() };
    session.raise(&flag).await.unwrap();
    let (watcher, watched) = (store.clone(), flag.clone());
    let watch = tokio::spawn(async move { watcher.watch(&watched, Duration::from_millis(800)).await });
    // passes time: lets the watch reach the server
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    proxy.silent.store(true, Ordering::SeqCst);
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
async fn watched_before(store: &PostgresStore) -> (Arc<dyn PresenceSession>, Flag) {
    let session = store.open(unique(), Duration::from_secs(60)).await.unwrap();
    let flag = Flag { lease: name("job"), term: Term::FIRST, session: session.id() };
    session.raise(&flag).await.unwrap();
    assert_eq!(store.watch(&flag, Duration::from_millis(20)).await.unwrap(), Watch::StillUp);
    (session, flag)
}

/// A waiting node watches all day long: what each watch costs counts.
#[tokio::test]
async fn a_watch_costs_one_statement() {
    let Some((_sandbox, proxy, store)) = behind_a_proxy().await else { return };
    let (session, flag) = watched_before(&store).await;
    for patience in [0, 1, 50, 333] {
        proxy.said();
        let patience = Duration::from_millis(patience);
        assert_eq!(store.watch(&flag, patience).await.unwrap(), Watch::StillUp);
        let said = proxy.said();
        let statements = said.matches("SELECT").count() + said.matches("SET ").count();
        assert_eq!(statements, 1, "{patience:?}: {said:?}");
    }
    session.lower(&flag).await.unwrap();
    proxy.said();
    assert_eq!(store.watch(&flag, Duration::from_secs(1)).await.unwrap(), Watch::Fallen);
    let said = proxy.said();
    assert_eq!(said.matches("SELECT").count() + said.matches(';').count(), 1, "{said:?}");
}

/// The link went silent since the last watch; the server did not.
#[tokio::test]
async fn a_watch_over_a_link_that_has_died_meanwhile_is_tried_again_on_a_new_one() {
    let Some((sandbox, proxy, store)) = behind_a_proxy().await else { return };
    let (session, flag) = watched_before(&store).await;
    let watch = |patience| {
        let (store, flag) = (store.clone(), flag.clone());
        tokio::spawn(async move { store.watch(&flag, Duration::from_millis(patience)).await })
    };
    proxy.said();
    proxy.silent.store(true, Ordering::SeqCst);
    let silent = watch(300);
    while !proxy.said().contains("SELECT") {
        tokio::task::yield_now().await;
    }
    // What was just said is swallowed, and so is all else on that link.
    proxy.silent.store(false, Ordering::SeqCst);
    assert_eq!(silent.await.unwrap().unwrap(), Watch::StillUp);

    // Ended by the server in the middle of a watch.
    let began = Instant::now();
    let ended = watch(1000);
    while sandbox.terminate("watch").await == 0 {}
    assert_eq!(ended.await.unwrap().unwrap(), Watch::StillUp);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1000) && took < Duration::from_millis(1300), "{took:?}");

    // Ended between two watches, and the flag has fallen since.
    sandbox.terminate("watch").await;
    session.lower(&flag).await.unwrap();
    assert_eq!(watch(1000).await.unwrap().unwrap(), Watch::Fallen);
}

#[tokio::test]
async fn s02_a_session_lock_over_a_silent_link_counts_as_lost() {
    let Some((_sandbox, proxy, store)) = behind_a_proxy().await else { return };
    let locks = store.session_locks().await.unwrap();
    let lock = locks.try_lock(&name("job")).await.unwrap().expect("it is free");
    // passes time: more than a ping of the lock
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert!(lock.is_held(), "pings are answered");
    proxy.silent.store(true, Ordering::SeqCst);
    tokio::time::timeout(Duration::from_secs(6), lock.lost()).await.expect("silence is noticed");
    assert!(!lock.is_held());
}
