//! Three members, and a leader among them that changes.

use std::time::{Duration, Instant};

use etcd_client::Client;
use tenure_core::StoreError;
use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Grant, Release, Renew};
use tenure_etcd::{EtcdOptions, EtcdStore};

use crate::node::{LONG, claim, is_held, renewal, takes};
use crate::private::{Private, connect, free_port};
use crate::proxy::Proxy;

struct Cluster {
    members: Vec<Private>,
}

impl Cluster {
    fn start() -> Option<Self> {
        let peers: Vec<u16> = (0..3).map(|_| free_port()).collect();
        let named = |number: usize| format!("m{number}=http://127.0.0.1:{}", peers[number]);
        let all = (0..peers.len()).map(named).collect::<Vec<_>>().join(",");
        let mut members = Vec::new();
        for (number, peer) in peers.iter().enumerate() {
            // The later of two options of one name counts.
            let more = vec![
                format!("--name=m{number}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-cluster={all}"),
            ];
            members.push(Private::with(tempfile::tempdir().unwrap(), more)?);
        }
        Some(Self { members })
    }

    /// All members, in one URL.
    fn url(&self) -> String {
        let hosts: Vec<_> = self.members.iter().map(|member| format!("127.0.0.1:{}", member.port)).collect();
        format!("etcd://{}", hosts.join(","))
    }

    async fn client(&self, number: usize) -> Client {
        Client::connect([format!("127.0.0.1:{}", self.members[number].port)], None).await.unwrap()
    }

    /// The number of the leader, and the ids of all members, in order.
    async fn leader(&self) -> (usize, Vec<u64>) {
        let began = Instant::now();
        loop {
            let (mut ids, mut leaders) = (Vec::new(), Vec::new());
            for number in 0..self.members.len() {
                if let Ok(status) = self.client(number).await.maintenance_client().status().await {
                    ids.push(status.header().unwrap().member_id());
                    leaders.push(status.leader());
                }
            }
            let agreed =
                ids.len() == self.members.len() && leaders.iter().all(|leader| *leader == leaders[0]);
            if let (true, Some(leader)) = (agreed, ids.iter().position(|id| Some(id) == leaders.first())) {
                return (leader, ids);
            }
            assert!(began.elapsed() < Duration::from_secs(30), "no leader");
        }
    }
}

async fn renews_in_the_end(store: &EtcdStore, grant: &Grant) -> Renew {
    let began = Instant::now();
    for number in 1000.. {
        match store.renew(grant, &renewal(number)).await {
            Ok(answer) => return answer,
            Err(error) => {
                assert!(error.is_transient() && began.elapsed() < Duration::from_secs(30), "{error}")
            }
        }
    }
    unreachable!("numbers do not run out")
}

/// The leader of etcd dies; the URL names the others too, and the holder goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_death_of_etcds_leader_costs_no_lease() {
    let Some(mut cluster) = Cluster::start() else { return };
    let (leader, _) = cluster.leader().await;
    let (ann, bob) = (connect(&cluster.url()).await, connect(&cluster.url()).await);
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    cluster.members[leader].kill();
    assert_eq!(renews_in_the_end(&ann, &grant).await, Renew::Extended);
    assert!(is_held(&bob, "job").await);
    assert_eq!(ann.release(&grant).await.unwrap(), Release::Released);
    assert!(takes(&bob, &claim("bob", "job", LONG)).await.term > grant.term);
}

/// A keep-alive is answered without a quorum. When the leader has changed before the transaction that proves it, it may have
/// been answered by one who was leader no more: the renewal is unknown, and the next one tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_during_a_change_of_etcds_leader_is_not_believed() {
    let Some(cluster) = Cluster::start() else { return };
    let (leader, ids) = cluster.leader().await;
    let next = (leader + 1) % ids.len();
    let proxy = Proxy::before(format!("127.0.0.1:{}", cluster.members[next].port)).await;
    let slow = EtcdOptions::from_url(&format!("{}?request_timeout=60", proxy.url())).unwrap();
    let ann = EtcdStore::connect(slow).await.unwrap();
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    assert_eq!(ann.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
    proxy.hold_request(3);
    let (store, held) = (ann.clone(), grant.clone());
    let renewing = tokio::spawn(async move { store.renew(&held, &renewal(2)).await });
    proxy.until_played(1).await;
    cluster.client(leader).await.maintenance_client().move_leader(ids[next]).await.expect("moved");
    assert_eq!(cluster.leader().await.0, next);
    proxy.let_go();
    let answer = renewing.await.unwrap();
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    assert_eq!(ann.renew(&grant, &renewal(3)).await.unwrap(), Renew::Extended);
}
