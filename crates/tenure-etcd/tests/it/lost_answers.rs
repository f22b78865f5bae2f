//! Answers that are lost after the server has acted.

use tenure_core::StoreError;
use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Release, Renew};

use crate::node::{LONG, claim, is_held, renewal, takes};
use crate::proxy::Proxy;
use crate::sandbox::Sandbox;

/// The requests of a claim are a read, an etcd lease and a transaction; of a renewal a read, a keep-alive and a transaction; of
/// a release a read, a transaction and the end of the etcd lease.
const REQUESTS: usize = 3;

/// A link of `ann`, who is behind it, to a server that `bob` reaches without.
async fn scene() -> Option<(Sandbox, Proxy, tenure_etcd::EtcdStore, tenure_etcd::EtcdStore)> {
    let sandbox = Sandbox::new()?;
    let proxy = Proxy::before(sandbox.address()).await;
    let mut options = tenure_etcd::EtcdOptions::from_url(&proxy.url()).unwrap();
    options.prefix = sandbox.prefix.clone();
    let ann = tenure_etcd::EtcdStore::connect(options).await.unwrap();
    let bob = sandbox.store().await;
    Some((sandbox, proxy, ann, bob))
}

/// Whatever answer is lost, the claim made again holds the lease, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s16_a_claim_whose_answer_was_lost_gets_its_grant_when_it_is_repeated() {
    let Some((_sandbox, proxy, ann, bob)) = scene().await else { return };
    for lost in 1..=REQUESTS {
        let name = format!("claim-{lost}");
        let claim = claim("ann", &name, LONG);
        proxy.lose_answer(lost);
        let answer = ann.try_acquire(&claim).await;
        assert!(matches!(answer, Err(StoreError::Unreachable { .. })), "answer {lost} was lost: {answer:?}");
        assert_eq!(proxy.played(), lost);
        let row = bob.observe(&claim.name).await.unwrap();
        assert_eq!(row.is_some(), lost == REQUESTS, "the last request is the one that takes the lease");
        let grant = takes(&ann, &claim).await;
        if let Some(row) = row {
            assert_eq!((grant.term, grant.acquired_at), (row.term, row.acquired_at), "the same grant");
        }
        assert!(is_held(&bob, &name).await);
        assert_eq!(ann.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
    }
}

/// etcd#22082: the release took effect, its answer was lost, and when it is repeated someone else holds the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s05_a_release_repeated_after_a_takeover_deletes_nothing() {
    let Some((_sandbox, proxy, ann, bob)) = scene().await else { return };
    let old = takes(&ann, &claim("ann", "job", LONG)).await;
    proxy.lose_answer(2);
    assert!(ann.release(&old).await.is_err(), "its answer was lost");
    let new = takes(&bob, &claim("bob", "job", LONG)).await;
    assert!(new.term > old.term);
    let before = bob.observe(&new.name).await.unwrap();
    assert_eq!(ann.release(&old).await.unwrap(), Release::NotHeld);
    assert_eq!(bob.observe(&new.name).await.unwrap(), before);
    assert_eq!(bob.renew(&new, &renewal(1)).await.unwrap(), Renew::Extended);
}

/// The lease is given back; that the end of its etcd lease was not answered is nobody's concern.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_is_an_answer_before_its_etcd_lease_has_ended() {
    let Some((_sandbox, proxy, ann, bob)) = scene().await else { return };
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    proxy.lose_answer(3);
    assert_eq!(ann.release(&grant).await.unwrap(), Release::Released);
    takes(&bob, &claim("bob", "job", LONG)).await;
}

/// A renewal without an answer is unknown; the next one, with the next number, tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s07_a_renewal_after_one_whose_answer_was_lost_extends_the_same_grant() {
    let Some((sandbox, proxy, ann, bob)) = scene().await else { return };
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    for lost in 1..=REQUESTS {
        proxy.lose_answer(lost);
        let number = 2 * lost as u64;
        assert!(ann.renew(&grant, &renewal(number - 1)).await.is_err(), "answer {lost} was lost");
        assert_eq!(ann.renew(&grant, &renewal(number)).await.unwrap(), Renew::Extended);
    }
    let held = sandbox.held("job").await.expect("held");
    assert_eq!(held.create_revision(), grant.term.as_column(), "the term is the key's create revision");
    assert!(is_held(&bob, "job").await);
}

/// A link that swallows everything: an answer within the limit that was set, and work goes on when the link is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_link_is_an_error_in_time_and_not_a_hang() {
    let Some((sandbox, proxy, _ann, _bob)) = scene().await else { return };
    let mut options = tenure_etcd::EtcdOptions::from_url(&proxy.url()).unwrap();
    (options.prefix, options.request_timeout) =
        (sandbox.prefix.clone(), std::time::Duration::from_millis(400));
    let ann = tenure_etcd::EtcdStore::connect(options).await.unwrap();
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    proxy.silence(true);
    let began = std::time::Instant::now();
    let answer = ann.renew(&grant, &renewal(1)).await;
    assert!(matches!(answer, Err(StoreError::Unreachable { .. })), "{answer:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    proxy.silence(false);
    let mut number = 1;
    while ann.renew(&grant, &renewal(number)).await.ok() != Some(Renew::Extended) {
        number += 1;
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "the link is back, and nothing works");
    }
}
