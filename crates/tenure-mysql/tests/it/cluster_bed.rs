//! Nodes and a leader in one sandbox, for the tests of the cluster.

use std::time::Duration;

use tenure_core::cluster::{
    Agents, Answer, Daemon, DaemonFilter, DaemonName, DaemonSpec, Deadlines, LEADER_LEASE, Labels, Member,
    Order, Placement, Revision, Verdict,
};
use tenure_core::contract::{ClusterStore as _, LeaseStore as _};
use tenure_core::id::{Node, NodeName};
use tenure_core::lease::{Claim, Fence, Grant, Term};
use tenure_core::time::StoreTime;
use tenure_sql::SqlStore;

use crate::sandbox::{Sandbox, Server, granted, name, unique};

pub(crate) const TTL: Duration = Duration::from_secs(60);
pub(crate) const DEADLINES: Deadlines =
    Deadlines { acknowledge: Duration::from_secs(30), drain: Duration::from_secs(30) };

/// A leader, and what it is on.
pub(crate) struct Bed {
    pub(crate) sandbox: Sandbox,
    pub(crate) store: SqlStore,
    pub(crate) leader: Fence,
}

impl Bed {
    pub(crate) async fn new(server: Server) -> Option<Self> {
        let sandbox = Sandbox::new(server).await?;
        let store = sandbox.sql().await;
        let leader = take(&store, LEADER_LEASE, "leader", TTL).await.fence();
        Some(Self { sandbox, store, leader })
    }

    /// A node that has registered for the family `f`, and brings daemons along.
    pub(crate) async fn node(&self, node: &str, declares: &[&str]) -> Grant {
        let grant = take(&self.store, &format!("tenure/node/{node}"), node, TTL).await;
        let declares = declares.iter().map(|daemon| DaemonSpec::new(daemon_name(daemon))).collect();
        let member = Box::new(member(&grant));
        let order = Order::Register { fence: grant.fence(), member, declares, deadlines: DEADLINES };
        taken(self.store.apply(&order).await.unwrap());
        grant
    }

    pub(crate) async fn daemon(&self, daemon: &str) -> Daemon {
        let all = self.store.daemons(&DaemonFilter::beginning(daemon)).await.unwrap();
        all.into_iter().find(|row| row.name().as_str() == daemon).expect("the daemon is there")
    }

    pub(crate) fn place(&self, placements: Vec<Placement>) -> Order {
        Order::Place { fence: self.leader.clone(), placements, deadlines: DEADLINES }
    }

    pub(crate) async fn assign(&self, daemon: &str, to: &Grant) -> Term {
        let generation = self.daemon(daemon).await.generation;
        taken(self.store.apply(&self.place(vec![assign(daemon, generation, to)])).await.unwrap());
        self.daemon(daemon).await.generation.expect("a generation")
    }

    pub(crate) fn acknowledge(&self, node: &Grant, daemon: &str, generation: Term) -> Order {
        let daemons = vec![(daemon_name(daemon), generation)];
        Order::Acknowledge { fence: node.fence(), node: node.node.name.clone(), daemons }
    }

    pub(crate) fn confirm(&self, node: &Grant, daemon: &str, generation: Term) -> Order {
        let daemons = vec![(daemon_name(daemon), generation)];
        let node_name = node.node.name.clone();
        Order::Confirm { fence: node.fence(), node: node_name, daemons, deadlines: DEADLINES }
    }

    pub(crate) async fn revision(&self) -> Revision {
        self.store.look().await.unwrap().revision
    }
}

pub(crate) async fn take(store: &SqlStore, lease: &str, node: &str, ttl: Duration) -> Grant {
    let node = Node { name: node_name(node), incarnation: unique(), machine: "m".into(), pid: 7 };
    let claim = Claim { name: name(lease), node, id: unique(), ttl, kind: None, evidence: None };
    granted(store.try_acquire(&claim).await.unwrap())
}

pub(crate) fn member(grant: &Grant) -> Member {
    Member {
        node: grant.node.clone(),
        term: grant.term,
        labels: Labels([("zone".to_owned(), "a".to_owned())].into()),
        version: "1.2.3".into(),
        capacity: 3,
        leads: true,
        agents: Agents { names: [daemon_name("single")].into(), families: ["f".to_owned()].into() },
        leaving: false,
        joined_at: StoreTime::from_micros(0),
        revision: Revision(0),
    }
}

pub(crate) fn assign(daemon: &str, generation: Option<Term>, to: &Grant) -> Placement {
    Placement::Assign {
        daemon: daemon_name(daemon),
        generation,
        to: to.node.name.clone(),
        term: to.term,
        reason: "it is new".into(),
        group: None,
    }
}

pub(crate) fn daemon_name(text: &str) -> DaemonName {
    DaemonName::new(text).unwrap()
}

pub(crate) fn node_name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

/// Everything that was asked for was done.
pub(crate) fn taken(answer: Answer) {
    match &answer {
        Answer::Done(verdicts) if verdicts.iter().all(Verdict::is_taken) => {}
        other => panic!("{other:?}"),
    }
}
