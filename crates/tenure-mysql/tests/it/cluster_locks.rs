//! Locks of the cluster: whoever changes it, takes a lease, renews one or has checked a fence never waits in a circle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::mysql::MySqlConnection;
use tenure_core::cluster::{
    Answer, DaemonFilter, DaemonSpec, DaemonState, Group, Order, Placement, Refusal, Verdict,
};
use tenure_core::contract::{ClusterStore as _, LeaseStore as _};
use tenure_core::id::Node;
use tenure_core::lease::{Acquire, Claim, Grant, Release, Renewal};
use tenure_mysql::MySqlStore;
use tenure_sql::SqlStore;

use crate::cluster_bed::{Bed, DEADLINES, TTL, assign, daemon_name, member, node_name, taken};
use crate::sandbox::{Server, name, unique};

mod mariadb {
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_waits_in_a_circle() {
        super::nobody_waits_in_a_circle(super::Server::MariaDb).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_fence_of_another_name_does_not_hold_up_a_first_placement() {
        super::a_fence_of_another_name_does_not_hold_up_a_first_placement(super::Server::MariaDb).await;
    }
}

mod mysql {
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_waits_in_a_circle() {
        super::nobody_waits_in_a_circle(super::Server::MySql).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_fence_of_another_name_does_not_hold_up_a_first_placement() {
        super::a_fence_of_another_name_does_not_hold_up_a_first_placement(super::Server::MySql).await;
    }
}

/// How long everyone goes on.
const LONG_ENOUGH: Duration = Duration::from_secs(4);
/// How many daemons there are.
const DAEMONS: usize = 60;

/// Orders about many daemons in different ways, claims and releases of nodes that come, expire and go, renewals, and users'
/// transactions under fences of daemons. Every call is answered: none ends for a lock that was not had in time.
async fn nobody_waits_in_a_circle(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let (a, b) = (bed.node("a", &[]).await, bed.node("b", &[]).await);
    let specs = (0..DAEMONS).map(|n| DaemonSpec::new(daemon_name(&format!("f/{n:02}")))).collect();
    taken(bed.store.apply(&Order::Declare { specs, deadlines: DEADLINES }).await.unwrap());
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::new();
    for grant in [a.clone(), b.clone()] {
        tasks.push(tokio::spawn(renew(bed.sandbox.sql().await, grant.clone(), over.clone())));
        tasks.push(tokio::spawn(serve(bed.sandbox.sql().await, grant, over.clone())));
    }
    for number in 0..2 {
        tasks.push(tokio::spawn(come_and_go(bed.sandbox.sql().await, number, over.clone())));
        tasks.push(tokio::spawn(divide(bed.sandbox.sql().await, number, over.clone())));
    }
    let (store, user) = (bed.sandbox.store().await, bed.sandbox.user().await);
    tasks.push(tokio::spawn(write_under_fences(store, user, over.clone())));
    let (began, mut moves) = (Instant::now(), 0);
    while began.elapsed() < LONG_ENOUGH {
        moves += lead(&bed, &[&a, &b]).await;
    }
    over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("every call was answered");
    }
    assert!(moves > DAEMONS, "only {moves} moves");
}

/// One round of a leader: what is nowhere is placed, what runs is stopped, nodes that expired are forgotten.
async fn lead(bed: &Bed, nodes: &[&Grant]) -> usize {
    let look = bed.store.look().await.unwrap();
    let mut placements: Vec<Placement> = Vec::new();
    for (place, row) in bed.store.daemons(&DaemonFilter::beginning("f/")).await.unwrap().iter().enumerate() {
        let to = nodes[place % nodes.len()];
        match (row.state, row.generation) {
            (DaemonState::Unassigned, generation) => {
                placements.push(assign(row.name().as_str(), generation, to));
            }
            (DaemonState::Active, Some(generation)) => placements.push(Placement::Revoke {
                daemon: row.name().clone(),
                generation,
                next: (place % 3 == 0).then(|| to.node.name.clone()),
                reason: "on and on".into(),
            }),
            _ => {}
        }
    }
    // Not in the order of their names.
    placements.reverse();
    let gone = look.nodes.iter().filter(|standing| !standing.is_alive(look.now));
    placements.extend(gone.map(|standing| Placement::Forget {
        node: standing.member.node.name.clone(),
        term: standing.member.term,
    }));
    match bed.store.apply(&bed.place(placements)).await.expect("an answer to the leader") {
        Answer::Done(verdicts) => verdicts.iter().filter(|verdict| verdict.is_taken()).count(),
        other => panic!("{other:?}"),
    }
}

/// A node: says yes to what it is given, and confirms what it is to stop.
async fn serve(store: SqlStore, grant: Grant, over: Arc<AtomicBool>) {
    let node = grant.node.name.clone();
    while !over.load(Ordering::Relaxed) {
        let rows = store.daemons(&DaemonFilter::of_node(node.clone())).await.unwrap();
        let of = |state: DaemonState| {
            let mine = rows.iter().filter(|row| row.state == state && row.node() == Some(&node));
            mine.filter_map(|row| Some((row.name().clone(), row.generation?))).collect::<Vec<_>>()
        };
        let (daemons, stopped) = (of(DaemonState::Assigning), of(DaemonState::Revoking));
        let yes = Order::Acknowledge { fence: grant.fence(), node: node.clone(), daemons };
        store.apply(&yes).await.expect("an answer to a node");
        let deadlines = DEADLINES;
        let stop = Order::Confirm { fence: grant.fence(), node: node.clone(), daemons: stopped, deadlines };
        let answer = store.apply(&stop).await.expect("an answer to a node");
        let Answer::Done(verdicts) = answer else { panic!("{answer:?}") };
        let fine = |verdict: &Verdict| {
            matches!(verdict, Verdict::Taken | Verdict::Refused(Refusal::InUse(_) | Refusal::Stale { .. }))
        };
        assert!(verdicts.iter().all(fine), "{verdicts:?}");
    }
}

async fn renew(store: SqlStore, grant: Grant, over: Arc<AtomicBool>) {
    let mut number = 1;
    while !over.load(Ordering::Relaxed) {
        store.renew(&grant, &Renewal { number, presence: None }).await.expect("a renewal");
        number += 1;
    }
}

/// A node that comes, and leaves in order or is found to have expired by whoever comes next.
async fn come_and_go(store: SqlStore, number: u32, over: Arc<AtomicBool>) {
    let (node, lease) = (format!("x{number}"), name(&format!("tenure/node/x{number}")));
    let mut round = 0;
    while !over.load(Ordering::Relaxed) {
        round += 1;
        let ttl = if round % 2 == 0 { TTL } else { Duration::from_millis(30) };
        let node = Node { name: node_name(&node), incarnation: unique(), machine: "m".into(), pid: 7 };
        let claim = Claim { name: lease.clone(), node, id: unique(), ttl, kind: None, evidence: None };
        let Acquire::Granted(grant) = store.try_acquire(&claim).await.expect("an answer to a claim") else {
            continue;
        };
        let order = Order::Register {
            fence: grant.fence(),
            member: Box::new(member(&grant)),
            declares: Vec::new(),
            deadlines: DEADLINES,
        };
        store.apply(&order).await.expect("an answer to a registration");
        if ttl == TTL {
            let order = Order::Depart { fence: grant.fence(), node: grant.node.name.clone() };
            taken(store.apply(&order).await.expect("an answer to who leaves"));
            assert_eq!(store.release(&grant).await.expect("released"), Release::Released);
        }
    }
}

/// Someone who declares daemons and groups, and retires them.
async fn divide(store: SqlStore, number: u32, over: Arc<AtomicBool>) {
    while !over.load(Ordering::Relaxed) {
        let part = |n: u32| {
            let group = Some(Group { name: format!("g{number}"), layout: 3 });
            DaemonSpec { group, ..DaemonSpec::new(daemon_name(&format!("g{number}/{n}"))) }
        };
        let specs: Vec<DaemonSpec> = (0..3).rev().map(part).collect();
        let daemons = specs.iter().map(|spec| spec.name.clone()).collect();
        taken(store.apply(&Order::Declare { specs, deadlines: DEADLINES }).await.expect("declared"));
        let order = Order::Retire { daemons, by: Some("ann".into()), deadlines: DEADLINES };
        store.apply(&order).await.expect("retired");
    }
}

/// Users' transactions, each under the fence of a daemon.
async fn write_under_fences(store: MySqlStore, mut user: MySqlConnection, over: Arc<AtomicBool>) {
    let fencing = store.fencing();
    let mut held = 0;
    while !over.load(Ordering::Relaxed) {
        for row in store.sql().daemons(&DaemonFilter::beginning("f/")).await.unwrap().iter().step_by(7) {
            let Some(fence) = row.fence() else { continue };
            let mut transaction = user.begin().await.unwrap();
            held += u32::from(fencing.check(&mut transaction, &fence).await.is_ok());
            transaction.commit().await.unwrap();
        }
    }
    assert!(held > 0, "no fence was ever held");
}

/// A user's transaction at the server's own isolation that has checked a fence locks that one row and no gap beside it.
async fn a_fence_of_another_name_does_not_hold_up_a_first_placement(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let a = bed.node("a", &["f/1", "f/3", "f/2", "f/0"]).await;
    for daemon in ["f/1", "f/3"] {
        bed.assign(daemon, &a).await;
    }
    let (mut user, fencing) = (bed.sandbox.user().await, bed.sandbox.store().await.fencing());
    let mut transaction = user.begin().await.unwrap();
    for daemon in ["f/1", "f/3"] {
        let fence = bed.daemon(daemon).await.fence().unwrap();
        fencing.check(&mut transaction, &fence).await.expect("it holds");
    }
    let began = Instant::now();
    for daemon in ["f/2", "f/0"] {
        bed.assign(daemon, &a).await;
    }
    assert!(began.elapsed() < Duration::from_secs(2), "it waited: {:?}", began.elapsed());
    let busy = bed.place(vec![Placement::Unassign {
        daemon: daemon_name("f/1"),
        generation: bed.daemon("f/1").await.generation.unwrap(),
        reason: "why not".into(),
    }]);
    let answer = bed.store.apply(&busy).await.unwrap();
    assert_eq!(answer, Answer::Done(vec![Verdict::Refused(Refusal::InUse(daemon_name("f/1")))]));
    transaction.commit().await.unwrap();
}
