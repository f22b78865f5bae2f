//! A server that goes away while a lease is held, and one that comes back without its data.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Grant, Loss, Release, Renew};
use tenure_etcd::EtcdStore;

use crate::node::{LONG, claim, is_held, renewal, takes};
use crate::private::Private;
use crate::sandbox::Sandbox;

/// Renews until there is an answer: calls that meet a server which is not there yet are unknown.
async fn renews_in_the_end(store: &EtcdStore, grant: &Grant) -> Renew {
    let began = Instant::now();
    let mut number = 100;
    loop {
        number += 1;
        match store.renew(grant, &renewal(number)).await {
            Ok(answer) => return answer,
            Err(error) => {
                assert!(error.is_transient() && began.elapsed() < Duration::from_secs(30), "{error}")
            }
        }
    }
}

/// etcd is killed and comes back within the ttl: the holder goes on holding, under its term.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_costs_no_lease() {
    let Some(mut server) = Private::start() else { return };
    let (ann, bob) = (server.store().await, server.store().await);
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    server.kill();
    let answer = ann.renew(&grant, &renewal(1)).await;
    assert!(answer.as_ref().is_err_and(|error| error.is_transient()), "{answer:?}");
    server.run();
    assert_eq!(renews_in_the_end(&ann, &grant).await, Renew::Extended);
    assert!(is_held(&bob, "job").await);
    assert_eq!(ann.release(&grant).await.unwrap(), Release::Released);
    let next = takes(&bob, &claim("bob", "job", LONG)).await;
    assert!(next.term > grant.term, "terms rise over a restart: {} after {}", next.term, grant.term);
    assert_eq!(bob.epoch(&next), ann.epoch(&grant), "it is the same count");
    assert!(bob.epoch(&next).is_some());
}

/// The data of the server is gone: its revisions begin again, and so it must not look like the same count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s15_a_server_that_was_wiped_counts_from_another_epoch() {
    let Some(mut server) = Private::start() else { return };
    let store = server.store().await;
    let mut old = takes(&store, &claim("ann", "job", LONG)).await;
    for _ in 0..3 {
        store.release(&old).await.unwrap();
        old = takes(&store, &claim("ann", "job", LONG)).await;
    }
    let epoch = store.epoch(&old).expect("an epoch");
    server.kill();
    server.wipe();
    server.run();
    assert_eq!(renews_in_the_end(&store, &old).await, Renew::Lost(Loss::Unknown));
    let new = takes(&store, &claim("ann", "job", LONG)).await;
    assert!(new.term < old.term, "the count began again: {} after {}", new.term, old.term);
    assert_ne!(store.epoch(&new).expect("an epoch"), epoch);
    assert_eq!(store.epoch(&old), None, "nothing is said of a grant that is not the last one");
    assert_eq!(store.release(&old).await.unwrap(), Release::NotHeld);
    assert_eq!(store.renew(&new, &renewal(1)).await.unwrap(), Renew::Extended);
}

/// Keys that were copied from a cluster that had counted further: a term might be given twice, so nobody leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s15_keys_from_a_cluster_that_had_counted_further_are_refused_aloud() {
    let Some(sandbox) = Sandbox::new() else { return };
    let store = sandbox.store().await;
    let grant = takes(&store, &claim("ann", "job", LONG)).await;
    store.release(&grant).await.unwrap();
    let client = sandbox.client().await;
    let (key, further) = (format!("{}last/job", sandbox.prefix), "4000000000000000000");
    let row = client.kv_client().get(key.as_str(), None).await.unwrap().take_kvs().remove(0);
    let told = format!("\"term\":{}", grant.term);
    assert!(row.value_str().unwrap().contains(&told));
    let copied = row.value_str().unwrap().replace(&told, &format!("\"term\":{further}"));
    client.kv_client().put(key.as_str(), copied, None).await.unwrap();
    let error = store.try_acquire(&claim("bob", "job", LONG)).await.expect_err("a term would go back");
    assert!(matches!(error, StoreError::Corrupt { .. }) && !error.is_transient(), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("lease job") && said.contains(further) && said.contains(&key), "{said}");
    client.kv_client().delete(key, None).await.unwrap();
    assert!(takes(&store, &claim("bob", "job", LONG)).await.term > grant.term);
}
