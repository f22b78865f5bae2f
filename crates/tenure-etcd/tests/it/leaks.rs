//! Whoever does not get a lease leaves no etcd lease behind.

use std::sync::Arc;

use etcd_client::Client;
use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Acquire, Grant, Release};
use tokio::sync::Barrier;

use crate::node::{LONG, claim};
use crate::private::Private;

const RACERS: usize = 8;
const ROUNDS: usize = 10;

/// projecteru2/core#699. The server is the test's own, so that every etcd lease on it is one of this test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_campaign_leaves_no_etcd_lease() {
    let Some(server) = Private::start() else { return };
    let store = server.store().await;
    let client = Client::connect([format!("127.0.0.1:{}", server.port)], None).await.unwrap();
    let leases = async || client.lease_client().leases().await.unwrap().leases().len();
    let mut lost = 0;
    for round in 0..ROUNDS {
        let (start, name) = (Arc::new(Barrier::new(RACERS)), format!("campaign-{round}"));
        let mut racing = Vec::new();
        for racer in 0..RACERS {
            let (store, start) = (store.clone(), Arc::clone(&start));
            let claim = claim(&format!("racer-{racer}"), &name, LONG);
            racing.push(tokio::spawn(async move {
                start.wait().await;
                store.try_acquire(&claim).await.expect("an answer")
            }));
        }
        let mut winner: Option<Grant> = None;
        for answer in racing {
            match answer.await.unwrap() {
                Acquire::Granted(grant) => assert!(winner.replace(grant).is_none(), "two won"),
                Acquire::Held(_) => lost += 1,
            }
        }
        assert_eq!(leases().await, 1, "only the winner's etcd lease is there");
        assert_eq!(store.release(&winner.expect("one won")).await.unwrap(), Release::Released);
        assert_eq!(leases().await, 0, "a release ends the etcd lease too");
    }
    assert_eq!(lost, ROUNDS * (RACERS - 1));
}
