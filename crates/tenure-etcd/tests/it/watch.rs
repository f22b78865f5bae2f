//! The hint that a grant is over.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore as _, Vacancy as _, Watch};
use tenure_core::lease::Term;
use tenure_etcd::{EtcdOptions, EtcdStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

use crate::node::{LONG, claim, named, renewal, takes};
use crate::private::Private;
use crate::proxy::Proxy;
use crate::sandbox::Sandbox;

/// Far longer than any hint takes.
const PATIENT: Duration = Duration::from_secs(30);

fn watches(store: &EtcdStore, name: &str, term: Term) -> JoinHandle<Result<Watch, StoreError>> {
    let (store, name) = (store.clone(), named(name));
    tokio::spawn(async move { store.watch(&name, term, PATIENT).await })
}

/// Gives a watch time to begin. What is asserted holds without it, but then nobody has waited.
async fn settle() {
    // passes time: until the watch has begun
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s25_a_release_is_told_at_once_and_a_renewal_is_not() {
    let Some(sandbox) = Sandbox::new() else { return };
    let (ann, bob) = (sandbox.store().await, sandbox.store().await);
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    let watching = watches(&bob, "job", grant.term);
    settle().await;
    ann.renew(&grant, &renewal(1)).await.unwrap();
    settle().await;
    assert!(!watching.is_finished(), "a renewal ends no watch");
    let began = Instant::now();
    ann.release(&grant).await.unwrap();
    assert_eq!(watching.await.unwrap().unwrap(), Watch::Fallen);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_ttl_is_told_without_anyone_asking() {
    let Some(sandbox) = Sandbox::new() else { return };
    let (ann, bob) = (sandbox.store().await, sandbox.store().await);
    let grant = takes(&ann, &claim("ann", "job", Duration::from_secs(1))).await;
    assert_eq!(watches(&bob, "job", grant.term).await.unwrap().unwrap(), Watch::Fallen);
    takes(&bob, &claim("bob", "job", LONG)).await;
}

/// What is over already is told at once; what is not over is told when patience ends, also when that is longer than one
/// request may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_answers_at_once_or_when_its_patience_ends() {
    let Some(sandbox) = Sandbox::new() else { return };
    let mut options = sandbox.options();
    options.request_timeout = Duration::from_millis(300);
    let store = EtcdStore::connect(options).await.unwrap();
    let grant = takes(&store, &claim("ann", "job", LONG)).await;
    let other = grant.term.next().unwrap();
    assert_eq!(watches(&store, "job", other).await.unwrap().unwrap(), Watch::Fallen);
    assert_eq!(watches(&store, "never", grant.term).await.unwrap().unwrap(), Watch::Fallen);
    let began = Instant::now();
    let patience = Duration::from_millis(900);
    assert_eq!(store.watch(&grant.name, grant.term, patience).await.unwrap(), Watch::StillUp);
    assert!(began.elapsed() >= patience);
}

/// What happens between the look and the beginning of the watch is not missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_before_the_watch_has_begun_is_told() {
    let Some(sandbox) = Sandbox::new() else { return };
    let proxy = Proxy::before(sandbox.address()).await;
    let mut slow = EtcdOptions::from_url(&format!("{}?request_timeout=60", proxy.url())).unwrap();
    slow.prefix = sandbox.prefix.clone();
    let (ann, bob) = (sandbox.store().await, EtcdStore::connect(slow).await.unwrap());
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    proxy.hold_request(2);
    let watching = watches(&bob, "job", grant.term);
    proxy.until_played(1).await;
    ann.release(&grant).await.unwrap();
    takes(&ann, &claim("cay", "job", LONG)).await;
    proxy.let_go();
    assert_eq!(watching.await.unwrap().unwrap(), Watch::Fallen);
}

/// The revision from which the watch would begin was compacted away: an error, and no hang.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_from_a_compacted_revision_is_an_error() {
    let Some(server) = Private::start() else { return };
    let proxy = Proxy::before(format!("127.0.0.1:{}", server.port)).await;
    let slow = EtcdOptions::from_url(&format!("{}?request_timeout=60", proxy.url())).unwrap();
    let (ann, bob) = (server.store().await, EtcdStore::connect(slow).await.unwrap());
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    proxy.hold_request(2);
    let watching = watches(&bob, "job", grant.term);
    proxy.until_played(1).await;
    for number in 1..=3 {
        ann.renew(&grant, &renewal(number)).await.unwrap();
    }
    let client = etcd_client::Client::connect([format!("127.0.0.1:{}", server.port)], None).await.unwrap();
    let now = client.kv_client().get("x", None).await.unwrap().header().unwrap().revision();
    client.kv_client().compact(now, None).await.unwrap();
    proxy.let_go();
    let error = watching.await.unwrap().expect_err("what was before is forgotten");
    assert!(error.to_string().contains("forgotten"), "{error}");
}

/// The server goes away under a watch: an error long before patience ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_on_a_server_that_goes_away_is_an_error() {
    let Some(mut server) = Private::start() else { return };
    let store = server.store().await;
    let grant = takes(&store, &claim("ann", "job", LONG)).await;
    let watching = watches(&store, "job", grant.term);
    settle().await;
    let began = Instant::now();
    server.kill();
    assert!(watching.await.unwrap().is_err());
    assert!(began.elapsed() < PATIENT / 2, "{:?}", began.elapsed());
}

/// Whoever drops a watch leaves none behind on the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_watch_ends_on_the_server() {
    let Some(server) = Private::start() else { return };
    let store = server.store().await;
    let grant = takes(&store, &claim("ann", "job", LONG)).await;
    let watching = watches(&store, "job", grant.term);
    until_watchers(server.port, 1).await;
    watching.abort();
    let _ = watching.await;
    until_watchers(server.port, 0).await;
}

async fn until_watchers(port: u16, count: u32) {
    let began = Instant::now();
    let wanted = format!("etcd_debugging_mvcc_watcher_total {count}\n");
    while !metrics(port).await.contains(&wanted) {
        assert!(began.elapsed() < Duration::from_secs(10), "there are never {count} watchers");
        settle().await;
    }
}

async fn metrics(port: u16) -> String {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
