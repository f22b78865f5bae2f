//! The cluster's tables: orders from the first lock to the commit, and what readers see of them.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::cluster::{
    Answer, Cursor, DaemonFilter, DaemonSpec, DaemonState, Group, Order, Placement, Refusal, Revision,
    Steering, Verdict,
};
use tenure_core::contract::{ClusterStore as _, LeaseAdmin as _, LeaseStore as _};
use tenure_core::lease::{Cause, FenceError, Loss};
use tokio::time::timeout;

use crate::cluster_bed::{Bed, DEADLINES, assign, daemon_name, node_name, taken};
use crate::sandbox::Mode;

/// A thousand daemons `f/0000` and so on.
fn many(count: usize) -> Vec<DaemonSpec> {
    (0..count).map(|number| DaemonSpec::new(daemon_name(&format!("f/{number:04}")))).collect()
}

async fn a_daemon_goes_from_node_to_node_with_its_lease(mode: Mode) {
    let Some(bed) = Bed::new(mode).await else { return };
    let (a, b) = (bed.node("a", &["f/1"]).await, bed.node("b", &[]).await);
    let look = bed.store.look().await.unwrap();
    assert_eq!(look.revision, Revision(2));
    assert_eq!(look.leads().map(|(node, _)| node.as_str()), Some("leader"));
    let names: Vec<&str> = look.nodes.iter().map(|node| node.member.node.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let standing = look.node(&node_name("a")).unwrap();
    assert!(standing.is_alive(look.now) && standing.member.joined_at <= look.now);
    assert_eq!((&standing.member.node, standing.member.term), (&a.node, a.term));
    assert_eq!((standing.member.capacity, standing.member.labels.0["zone"].as_str()), (3, "a"));
    assert_eq!(standing.lease, bed.store.observe(&a.name).await.unwrap());

    let first = bed.assign("f/1", &a).await;
    let row = bed.daemon("f/1").await;
    assert_eq!((row.state, row.node(), row.moves), (DaemonState::Assigning, Some(&a.node.name), 1));
    assert!(row.deadline.is_some_and(|deadline| deadline > row.since));
    let fence = row.fence().expect("it is placed");
    let lease = bed.store.observe(&fence.lease).await.unwrap().expect("its lease is there");
    assert_eq!((lease.term, &lease.node, lease.backend.as_str()), (first, &a.node, "cluster"));
    taken(bed.store.apply(&bed.acknowledge(&a, "f/1", first)).await.unwrap());
    assert_eq!(bed.daemon("f/1").await.state, DaemonState::Active);
    let mut user = bed.sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    bed.store.fencing().check(&transaction, &fence).await.expect("it holds");
    transaction.commit().await.unwrap();

    let revoke = Placement::Revoke {
        daemon: daemon_name("f/1"),
        generation: first,
        next: Some(b.node.name.clone()),
        reason: "spread".into(),
    };
    taken(bed.store.apply(&bed.place(vec![revoke])).await.unwrap());
    let of_b = bed.store.daemons(&DaemonFilter::of_node(node_name("b"))).await.unwrap();
    assert_eq!((of_b.len(), of_b[0].state), (1, DaemonState::Revoking), "it goes there next");
    taken(bed.store.apply(&bed.confirm(&a, "f/1", first)).await.unwrap());
    let row = bed.daemon("f/1").await;
    assert_eq!((row.state, row.node()), (DaemonState::Assigning, Some(&b.node.name)));
    assert!(row.generation > Some(first));
    let refused = bed.store.fencing().check(&user.transaction().await.unwrap(), &fence).await.unwrap_err();
    assert!(
        matches!(&refused, FenceError::Fenced(fenced) if matches!(fenced.loss, Loss::Taken { .. })),
        "{refused}"
    );
    let history = bed.store.history(Some(&fence.lease), None, 10).await.unwrap();
    let causes: Vec<Cause> = history.iter().rev().map(|change| change.cause).collect();
    assert_eq!(causes, [Cause::Acquired, Cause::Released, Cause::Acquired]);
}

#[tokio::test]
async fn direct_a_daemon_goes_from_node_to_node_with_its_lease() {
    a_daemon_goes_from_node_to_node_with_its_lease(Mode::Direct).await;
}

#[tokio::test]
async fn pgbouncer_a_daemon_goes_from_node_to_node_with_its_lease() {
    a_daemon_goes_from_node_to_node_with_its_lease(Mode::Pooled).await;
}

/// What is refused or was so before leaves no number behind, and nobody is told of it.
#[tokio::test]
async fn an_order_that_changes_nothing_uses_up_no_revision() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let a = bed.node("a", &["f/1"]).await;
    let generation = bed.assign("f/1", &a).await;
    let before = bed.revision().await;
    let again = bed.place(vec![assign("f/1", None, &a)]);
    let answer = bed.store.apply(&again).await.unwrap();
    assert!(matches!(&answer, Answer::Done(v) if matches!(v[..], [Verdict::Refused(Refusal::Stale { .. })])));
    let out_of_office = Order::Place {
        fence: tenure_core::lease::Fence { term: bed.leader.term.next().unwrap(), ..bed.leader.clone() },
        placements: vec![assign("f/1", Some(generation), &a)],
        deadlines: DEADLINES,
    };
    assert!(matches!(bed.store.apply(&out_of_office).await.unwrap(), Answer::Fenced(_)));
    let group = Some(Group { name: "nul\0".into(), layout: 1 });
    let bad = DaemonSpec { group, ..DaemonSpec::new(daemon_name("f/2")) };
    let order = Order::Declare { specs: vec![bad], deadlines: DEADLINES };
    let answer = bed.store.apply(&order).await.unwrap();
    assert!(matches!(answer, Answer::Refused(Refusal::Invalid(_))), "{answer:?}");
    assert_eq!(bed.revision().await, before);
}

/// A transaction under a daemon's fence may stay open for long: nobody waits for it, and nothing is taken from it.
async fn a_daemon_in_use_is_refused_at_once(mode: Mode) {
    let Some(bed) = Bed::new(mode).await else { return };
    let a = bed.node("a", &["f/1", "f/2"]).await;
    let generation = bed.assign("f/1", &a).await;
    let revoke =
        Placement::Revoke { daemon: daemon_name("f/1"), generation, next: None, reason: "why not".into() };
    taken(bed.store.apply(&bed.place(vec![revoke])).await.unwrap());
    let mut user = bed.sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    let fence = bed.daemon("f/1").await.fence().unwrap();
    bed.store.fencing().check(&transaction, &fence).await.expect("it holds");

    let confirm = bed.confirm(&a, "f/1", generation);
    let began = Instant::now();
    let answer = bed.store.apply(&confirm).await.unwrap();
    assert_eq!(answer, Answer::Done(vec![Verdict::Refused(Refusal::InUse(daemon_name("f/1")))]));
    // Others are not held up by it either, with a lease or without one.
    bed.assign("f/2", &a).await;
    assert!(began.elapsed() < Duration::from_secs(1), "it waited: {:?}", began.elapsed());
    transaction.commit().await.unwrap();
    taken(bed.store.apply(&confirm).await.unwrap());
    assert_eq!(bed.daemon("f/1").await.state, DaemonState::Unassigned);
}

#[tokio::test]
async fn direct_a_daemon_in_use_is_refused_at_once() {
    a_daemon_in_use_is_refused_at_once(Mode::Direct).await;
}

#[tokio::test]
async fn pgbouncer_a_daemon_in_use_is_refused_at_once() {
    a_daemon_in_use_is_refused_at_once(Mode::Pooled).await;
}

/// A renewal that was in time and does not show yet is waited for: the node lives.
#[tokio::test]
async fn a_node_whose_renewal_is_under_way_is_not_given_up() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let a = bed.node("a", &["f/1"]).await;
    let leases = bed.sandbox.table("leases");
    let mut user = bed.sandbox.superuser().await;
    let set = |until: &str| {
        format!("UPDATE {leases} SET expires_at = clock_timestamp() {until} WHERE name = 'tenure/node/a'")
    };
    user.batch_execute(&set("- interval '1 second'")).await.unwrap();
    let renewal = user.transaction().await.unwrap();
    renewal.batch_execute(&set("+ interval '60 seconds'")).await.unwrap();
    let forget = bed.place(vec![Placement::Forget { node: node_name("a"), term: a.term }]);
    let store = bed.store.clone();
    let deciding = tokio::spawn(async move { store.apply(&forget).await.unwrap() });
    // passes time: enough for a decision that does not wait
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!deciding.is_finished());
    renewal.commit().await.unwrap();
    let answer = deciding.await.unwrap();
    assert_eq!(answer, Answer::Done(vec![Verdict::Refused(Refusal::NodeLives(node_name("a")))]));
}

/// A daemon is added in each of 8 × 20 orders, and each order has a number of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn orders_of_many_at_once_happen_one_after_another() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let mut tasks = Vec::new();
    for task in 0..8 {
        let store = bed.sandbox.store().await;
        tasks.push(tokio::spawn(async move {
            for number in 0..20 {
                let specs = vec![DaemonSpec::new(daemon_name(&format!("f/{task}-{number}")))];
                taken(store.apply(&Order::Declare { specs, deadlines: DEADLINES }).await.unwrap());
            }
        }));
    }
    // Meanwhile, whoever reads by revision misses nothing.
    let (mut cursor, mut read) = (Cursor::default(), Vec::new());
    while read.len() < 160 {
        for daemon in bed.store.daemons_after(&cursor, 7).await.unwrap() {
            cursor = Cursor { revision: daemon.revision, daemon: Some(daemon.name().clone()) };
            read.push(daemon);
        }
        assert!(!tasks.iter().all(|task| task.is_finished()) || read.len() <= 160);
    }
    for task in tasks {
        task.await.unwrap();
    }
    let revisions: Vec<u64> = read.iter().map(|daemon| daemon.revision.0).collect();
    assert_eq!(revisions, (1..=160).collect::<Vec<u64>>());
    assert_eq!(bed.revision().await, Revision(160));
    assert_eq!(bed.store.daemons(&DaemonFilter::beginning("")).await.unwrap().len(), 160);
}

#[tokio::test]
async fn rows_of_few_revisions_are_read_page_by_page_without_loss() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let specs = many(2500);
    for part in [&specs[..1000], &specs[1000..2499], &specs[2499..]] {
        let order = Order::Declare { specs: part.to_vec(), deadlines: DEADLINES };
        taken(bed.store.apply(&order).await.unwrap());
    }
    let (mut cursor, mut names) = (Cursor::default(), Vec::new());
    loop {
        let page = bed.store.daemons_after(&cursor, 300).await.unwrap();
        assert!(page.len() <= 300);
        let Some(last) = page.last() else { break };
        cursor = Cursor { revision: last.revision, daemon: Some(last.name().clone()) };
        names.extend(page.iter().map(|daemon| daemon.name().as_str().to_owned()));
    }
    let all: Vec<String> = specs.iter().map(|spec| spec.name.as_str().to_owned()).collect();
    assert_eq!(names, all);
    let rest = Cursor { revision: Revision(1), daemon: None };
    assert_eq!(bed.store.daemons_after(&rest, u32::MAX).await.unwrap().len(), 2500, "from its first name on");
    let end = Cursor { revision: Revision(u64::MAX), daemon: None };
    assert!(bed.store.daemons_after(&end, u32::MAX).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_thousand_daemons_are_placed_by_one_order() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let a = bed.node("a", &[]).await;
    let specs = many(1000);
    let names: Vec<String> = specs.iter().map(|spec| spec.name.as_str().to_owned()).collect();
    taken(bed.store.apply(&Order::Declare { specs, deadlines: DEADLINES }).await.unwrap());
    let order = bed.place(names.iter().map(|name| assign(name, None, &a)).collect());
    let began = Instant::now();
    taken(bed.store.apply(&order).await.unwrap());
    crate::sandbox::say(&format!("a thousand daemons were placed in {:?}", began.elapsed()));
    // What it takes is measured elsewhere; a statement for each row would take longer than this on any machine.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let placed = bed.store.daemons(&DaemonFilter::of_node(node_name("a"))).await.unwrap();
    assert_eq!(placed.len(), 1000);
    assert!(placed.iter().all(|daemon| daemon.revision == Revision(3) && daemon.moves == 1));
    assert_eq!(
        bed.store.history(None, None, 3000).await.unwrap().len(),
        1002,
        "with those of the leader and the node"
    );
}

/// `%` and `_` are letters like others, and names compare byte by byte.
#[tokio::test]
async fn filters_go_by_bytes() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let names = ["a%b", "a_b", "aXb", "aä", "a", "B", "b"];
    let specs = names.iter().map(|name| DaemonSpec::new(daemon_name(name))).collect();
    taken(bed.store.apply(&Order::Declare { specs, deadlines: DEADLINES }).await.unwrap());
    let found = async |filter: DaemonFilter| -> Vec<String> {
        let rows = bed.store.daemons(&filter).await.unwrap();
        rows.iter().map(|daemon| daemon.name().as_str().to_owned()).collect()
    };
    assert_eq!(found(DaemonFilter::beginning("")).await, ["B", "a", "a%b", "aXb", "a_b", "aä", "b"]);
    assert_eq!(found(DaemonFilter::beginning("a%")).await, ["a%b"]);
    assert_eq!(found(DaemonFilter::beginning("a_")).await, ["a_b"]);
    assert_eq!(found(DaemonFilter::beginning("aä")).await, ["aä"]);
    assert!(found(DaemonFilter::beginning("a\0")).await.is_empty());
    let after = DaemonFilter { after: Some(daemon_name("a%b")), limit: 2, ..DaemonFilter::beginning("a") };
    assert_eq!(found(after).await, ["aXb", "a_b"]);
    assert!(found(DaemonFilter::of_node(node_name("a"))).await.is_empty());
}

#[tokio::test]
async fn an_operator_is_noted() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    bed.node("a", &["f/1"]).await;
    let steering = Steering::Pause;
    let order = Order::Steer { daemon: daemon_name("f/1"), steering, by: "ann".into(), deadlines: DEADLINES };
    taken(bed.store.apply(&order).await.unwrap());
    let sql = format!("SELECT actor, action, subject FROM {}", bed.sandbox.table("audit"));
    let row = bed.sandbox.superuser().await.query_one(&sql, &[]).await.unwrap();
    let line: (String, String, String) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(line, ("ann".into(), "daemon paused".into(), "f/1".into()));
    assert_eq!(bed.daemon("f/1").await.paused_by.as_deref(), Some("ann"));
}

#[tokio::test]
async fn two_prefixes_do_not_see_each_other() {
    let (Some(one), Some(two)) = (Bed::new(Mode::Direct).await, Bed::new(Mode::Direct).await) else { return };
    one.node("a", &["f/1"]).await;
    let look = two.store.look().await.unwrap();
    assert_eq!((look.revision, look.nodes.len()), (Revision(0), 0));
    assert!(two.store.daemons(&DaemonFilter::beginning("")).await.unwrap().is_empty());
    let wakeup = two.store.watch().await.unwrap().expect("sessions are real");
    wakeup.arm(true);
    timeout(Duration::from_secs(1), wakeup.hint()).await.expect("it has taken effect").unwrap();
    one.node("b", &[]).await;
    let heard = timeout(Duration::from_millis(300), wakeup.hint()).await;
    assert!(heard.is_err(), "the channel is that of its own tables");
}

#[tokio::test]
async fn a_change_wakes_whoever_watches() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let watcher = bed.sandbox.store().await;
    let wakeup = watcher.watch().await.unwrap().expect("sessions are real");
    bed.node("a", &["f/1"]).await;
    let quiet = Duration::from_millis(300);
    assert!(timeout(quiet, wakeup.hint()).await.is_err(), "not armed");
    wakeup.arm(true);
    timeout(Duration::from_secs(1), wakeup.hint()).await.expect("it has taken effect").unwrap();
    assert!(timeout(quiet, wakeup.hint()).await.is_err(), "nothing has changed");
    bed.node("b", &[]).await;
    timeout(Duration::from_secs(1), wakeup.hint()).await.expect("a change").unwrap();
    let refused = bed.place(vec![Placement::Explain { daemon: daemon_name("none"), reason: "x".into() }]);
    bed.store.apply(&refused).await.unwrap();
    assert!(timeout(quiet, wakeup.hint()).await.is_err(), "what changed nothing wakes nobody");
    assert_eq!(bed.sandbox.terminate("listen").await, 1);
    let over = timeout(Duration::from_secs(2), wakeup.hint()).await.expect("an answer").unwrap_err();
    assert!(matches!(over, StoreError::Unreachable { .. }), "{over}");
}

#[tokio::test]
async fn pgbouncer_has_nothing_that_wakes() {
    let Some(bed) = Bed::new(Mode::Pooled).await else { return };
    assert!(bed.store.watch().await.unwrap().is_none());
}

/// What no version of Tenure wrote is named by its table and key, without its content.
#[tokio::test]
async fn damaged_rows_are_reported_and_not_guessed_at() {
    let Some(bed) = Bed::new(Mode::Direct).await else { return };
    let a = bed.node("a", &["f/1"]).await;
    let client = bed.sandbox.superuser().await;
    let acknowledge = bed.acknowledge(&a, "f/1", a.term);
    for (table, column, damage, good, key) in [
        ("assignments", "labels", "'CANARY'", "'{}'", "f/1"),
        ("assignments", "avoids", "'{\"CANARY\":1}'", "'[]'", "f/1"),
        ("assignments", "failures", "-1", "0", "f/1"),
        ("assignments", "generation", "0", "NULL", "f/1"),
        ("assignments", "pinned_to", "''", "NULL", "f/1"),
        ("nodes", "agents", "'CANARY'", "'{}'", "a"),
        ("nodes", "incarnation", "'CANARY'", "repeat('0', 32)", "a"),
        ("nodes", "capacity", "-5", "1", "a"),
        ("cluster", "revision", "-9", "7", "1"),
    ] {
        let set = |value: &str| format!("UPDATE {} SET {column} = {value}", bed.sandbox.table(table));
        client.batch_execute(&set(damage)).await.unwrap();
        let read = match table {
            "assignments" => bed.store.daemons(&DaemonFilter::beginning("")).await.unwrap_err(),
            _ => bed.store.look().await.unwrap_err(),
        };
        let changed = bed.store.apply(&acknowledge).await.unwrap_err();
        for error in [read, changed] {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
            for part in [format!("table {table}"), format!("row {key}"), format!("column {column}")] {
                assert!(error.to_string().contains(&part), "{part}: {error}");
            }
            assert!(!format!("{error:?}").contains("CANARY"), "{error}");
        }
        client.batch_execute(&set(good)).await.unwrap();
    }
    bed.store.look().await.unwrap();
    client.batch_execute(&format!("DELETE FROM {}", bed.sandbox.table("cluster"))).await.unwrap();
    for error in [bed.store.look().await.unwrap_err(), bed.store.apply(&acknowledge).await.unwrap_err()] {
        assert!(error.to_string().contains("table cluster, row 1"), "{error}");
    }
    let text = format!("UPDATE {} SET state = 'CANARY'", bed.sandbox.table("assignments"));
    assert!(client.batch_execute(&text).await.is_err(), "the table itself refuses an unknown state");
}
