//! Requests that arrive late: the one who sent them slept, or the link did.

use std::time::Duration;

use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Acquire, Loss, Release, Renew};
use tenure_etcd::{EtcdOptions, EtcdStore};

use crate::node::{LONG, claim, is_held, renewal, takes, takes_in_the_end};
use crate::proxy::Proxy;
use crate::sandbox::Sandbox;

/// The shortest that etcd grants with the election timeout that it has by default.
const SHORT: Duration = Duration::from_secs(2);

struct Scene {
    sandbox: Sandbox,
    proxy: Proxy,
    /// Behind the proxy.
    ann: EtcdStore,
    bob: EtcdStore,
}

async fn scene() -> Option<Scene> {
    let sandbox = Sandbox::new()?;
    let proxy = Proxy::before(sandbox.address()).await;
    let mut options = EtcdOptions::from_url(&format!("{}?request_timeout=60", proxy.url())).unwrap();
    options.prefix = sandbox.prefix.clone();
    let (ann, bob) = (EtcdStore::connect(options).await.unwrap(), sandbox.store().await);
    Some(Scene { sandbox, proxy, ann, bob })
}

/// etcd#11456: the etcd lease of a claim ends before the transaction that would use it. It is not granted then, whoever
/// holds the lease or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_a_claim_whose_etcd_lease_ended_on_the_way_is_not_granted() {
    let Some(Scene { sandbox, proxy, ann, bob }) = scene().await else { return };
    proxy.hold_request(3);
    let late = claim("ann", "job", SHORT);
    let (store, asked) = (ann.clone(), late.clone());
    let asking = tokio::spawn(async move { store.try_acquire(&asked).await });
    proxy.until_played(1).await;
    // passes time: longer than the etcd lease of the claim, and than etcd takes to notice
    tokio::time::sleep(SHORT + Duration::from_millis(1500)).await;
    proxy.let_go();
    let answer = asking.await.unwrap();
    assert!(!matches!(answer, Ok(Acquire::Granted(_))), "{answer:?}");
    assert!(sandbox.held("job").await.is_none(), "and nothing was written");
    assert_eq!(bob.observe(&late.name).await.unwrap(), None);
    takes(&bob, &claim("bob", "job", LONG)).await;
}

/// The same where another took the lease in the meantime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_a_late_claim_changes_nothing_for_one_who_came_before() {
    let Some(Scene { proxy, ann, bob, .. }) = scene().await else { return };
    proxy.hold_request(3);
    let asking = tokio::spawn(async move { ann.try_acquire(&claim("ann", "job", LONG)).await });
    proxy.until_played(1).await;
    let grant = takes(&bob, &claim("bob", "job", LONG)).await;
    let before = bob.observe(&grant.name).await.unwrap();
    proxy.let_go();
    let Ok(Acquire::Held(holder)) = asking.await.unwrap() else { panic!("bob holds it") };
    assert_eq!(holder.term, grant.term);
    assert_eq!(bob.observe(&grant.name).await.unwrap(), before);
}

/// A holder that slept beyond its ttl wakes in the middle of a renewal, at each of its requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s01_a_renewal_that_was_under_way_during_a_takeover_is_lost() {
    let Some(Scene { proxy, ann, bob, .. }) = scene().await else { return };
    for request in 1..=3 {
        let name = format!("asleep-{request}");
        let old = takes(&ann, &claim("ann", &name, SHORT)).await;
        proxy.hold_request(request);
        let (store, grant) = (ann.clone(), old.clone());
        let renewing = tokio::spawn(async move { store.renew(&grant, &renewal(1)).await });
        proxy.until_played(request).await;
        let next = claim("bob", &name, LONG);
        let new = takes_in_the_end(&bob, &next).await;
        let before = bob.observe(&new.name).await.unwrap();
        proxy.let_go();
        let taken = Loss::Taken { term: new.term, by: next.node.name };
        assert_eq!(renewing.await.unwrap().unwrap(), Renew::Lost(taken), "held at request {request}");
        assert_eq!(bob.observe(&new.name).await.unwrap(), before, "held at request {request}");
    }
}

/// The same process holds the lease again, while a release of its former term is still under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s04_a_release_that_was_under_way_spares_the_next_term_of_the_same_node() {
    let Some(Scene { sandbox, proxy, ann, bob }) = scene().await else { return };
    for request in 1..=2 {
        let name = format!("again-{request}");
        let first = claim("ann", &name, SHORT);
        let old = takes(&ann, &first).await;
        proxy.hold_request(request);
        let (store, grant) = (ann.clone(), old.clone());
        let releasing = tokio::spawn(async move { store.release(&grant).await });
        proxy.until_played(request).await;
        // Through another connection: this one is held.
        let again = tenure_core::lease::Claim { node: first.node.clone(), ..claim("ann", &name, LONG) };
        let new = takes_in_the_end(&bob, &again).await;
        assert!(new.term > old.term);
        proxy.let_go();
        assert_eq!(releasing.await.unwrap().unwrap(), Release::NotHeld, "held at request {request}");
        let held = sandbox.held(&name).await.expect("held");
        assert_eq!(held.create_revision(), new.term.as_column());
        assert!(is_held(&bob, &name).await);
    }
}

/// Someone deletes the key by hand while its holder renews, and another takes the lease. The etcd lease of the former holder
/// still lives: only what the transaction compares keeps it from writing over its successor's key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s03_a_renewal_does_not_write_over_the_key_of_a_successor() {
    let Some(Scene { sandbox, proxy, ann, bob }) = scene().await else { return };
    let old = takes(&ann, &claim("ann", "job", LONG)).await;
    proxy.hold_request(3);
    let renewing = tokio::spawn(async move { ann.renew(&old, &renewal(1)).await });
    proxy.until_played(1).await;
    sandbox.delete(&["held"], "job").await;
    let next = claim("bob", "job", LONG);
    let new = takes(&bob, &next).await;
    let before = sandbox.held("job").await.expect("held");
    proxy.let_go();
    let taken = Loss::Taken { term: new.term, by: next.node.name };
    assert_eq!(renewing.await.unwrap().unwrap(), Renew::Lost(taken));
    let after = sandbox.held("job").await.expect("held");
    assert_eq!((after.lease(), after.mod_revision()), (before.lease(), before.mod_revision()));
}
