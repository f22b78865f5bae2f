//! Nodes of a cluster as processes: they leave, they lose their database, they share a name.

use std::time::Duration;

use tenure::{DaemonName, DaemonSpec};

use crate::harness::{
    ClusterNode, Link, Proxy, Store, assert_never_doubled, declare, micros_now, runs, tests_on, wait_until,
};

tests_on!(sqlite:
    s72_when_a_node_leaves_nothing_waits_for_a_ttl,
    daemons_stop_while_their_database_is_locked_and_come_back,
    of_two_nodes_with_one_name_the_second_is_refused,
    a_daemon_waits_for_a_node_with_its_label,
);
tests_on!(postgres:
    s72_when_a_node_leaves_nothing_waits_for_a_ttl,
    s65_a_node_that_is_cut_off_stops_before_another_starts,
    of_two_nodes_with_one_name_the_second_is_refused,
    a_daemon_waits_for_a_node_with_its_label,
);
tests_on!(mariadb:
    s72_when_a_node_leaves_nothing_waits_for_a_ttl,
    s65_a_node_that_is_cut_off_stops_before_another_starts,
    of_two_nodes_with_one_name_the_second_is_refused,
    a_daemon_waits_for_a_node_with_its_label,
);
tests_on!(mysql:
    s72_when_a_node_leaves_nothing_waits_for_a_ttl,
    s65_a_node_that_is_cut_off_stops_before_another_starts,
    of_two_nodes_with_one_name_the_second_is_refused,
    a_daemon_waits_for_a_node_with_its_label,
);

/// The ttl of a node, by default.
const TTL: Duration = Duration::from_secs(6);
/// For how long the database is away: longer than any ttl.
const AWAY: Duration = Duration::from_secs(15);

fn daemon(name: &str) -> DaemonSpec {
    DaemonSpec::new(DaemonName::new(name).unwrap())
}

fn some(count: usize) -> Vec<DaemonSpec> {
    (0..count).map(|n| daemon(&format!("bench/{n:02}"))).collect()
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap()
}

fn total(nodes: &[&ClusterNode]) -> usize {
    nodes.iter().map(|node| node.running().len()).sum()
}

fn s72_when_a_node_leaves_nothing_waits_for_a_ttl(store: &Store) {
    // The first leads, and so the one that leaves is once the leader and once not.
    let mut nodes = vec![ClusterNode::joined(store, "a", &[])];
    nodes[0].until("leads");
    nodes.push(ClusterNode::joined(store, "b", &[]));
    nodes.push(ClusterNode::joined(store, "c", &[]));
    declare(store, some(24));
    wait_until("all run", || total(&nodes.iter().collect::<Vec<_>>()) == 24);
    let mut former = Vec::new();
    for _ in 0..2 {
        let mut leaves = nodes.remove(0);
        let theirs = leaves.running();
        assert!(!theirs.is_empty());
        assert_eq!(leaves.stop(), 0, "{}", leaves.log());
        let asked = leaves.until("leaving")["at_us"].as_u64().unwrap();
        wait_until("all run", || total(&nodes.iter().collect::<Vec<_>>()) == 24);
        former.push(leaves);
        let all = runs(former.iter().chain(&nodes));
        for daemon in &theirs {
            let (before, after) = (&all[daemon][all[daemon].len() - 2], &all[daemon][all[daemon].len() - 1]);
            assert!(!before.lost, "it was asked to stop: {before:?}");
            assert!(after.generation > before.generation && after.started >= before.ended.unwrap());
            let waited = Duration::from_micros(after.started - asked);
            assert!(waited < TTL / 2, "{daemon} waited {waited:?}");
        }
        let gone = &former.last().unwrap().name;
        let status = store.tenure(&["status", "--json"]).ok().json();
        assert!(status["nodes"].as_array().unwrap().iter().all(|node| node["name"] != **gone), "{status}");
        let history = store.history(&format!("tenure/node/{gone}"));
        assert!(history[1] == "1 released", "{history:?}");
    }
    assert_never_doubled(former.iter().chain(&nodes));
}

fn daemons_stop_while_their_database_is_locked_and_come_back(store: &Store) {
    let (a, b) = (ClusterNode::joined(store, "a", &[]), ClusterNode::joined(store, "b", &[]));
    declare(store, some(10));
    wait_until("all run", || total(&[&a, &b]) == 10);
    let path = tenure::sqlite::SqliteOptions::from_url(store.url()).unwrap().path;
    let lock = rusqlite::Connection::open(path).unwrap();
    lock.busy_timeout(Duration::from_secs(10)).unwrap();
    lock.execute_batch("begin exclusive").unwrap();
    let (from, locked) = (micros_now(), std::time::Instant::now());
    wait_until("all have stopped", || total(&[&a, &b]) == 0);
    let rest = AWAY.saturating_sub(locked.elapsed());
    std::thread::sleep(rest); // passes time: an outage has a length
    assert_eq!(total(&[&a, &b]), 0, "nobody starts anything");
    lock.execute_batch("rollback").unwrap();
    let back = micros_now();
    wait_until("all run again", || total(&[&a, &b]) == 10);
    assert_never_doubled([&a, &b]);
    for (daemon, runs) in runs([&a, &b]) {
        for run in runs.iter().filter(|run| run.started < from) {
            let ended = run.ended.expect("it has ended");
            assert!(run.lost && ended < from + micros(TTL), "{daemon}: {run:?}, locked at {from}");
        }
        assert!(runs.iter().all(|run| run.started < from || run.started > back), "{daemon}: {runs:?}");
        assert!(runs.last().unwrap().generation > runs[0].generation, "{daemon}: {runs:?}");
    }
}

fn s65_a_node_that_is_cut_off_stops_before_another_starts(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let links = [Proxy::before(store.url()), Proxy::before(store.url())];
    let a = ClusterNode::start_by(store, &links[0].url(store.url()), "a", &["--settle", "1s"]);
    let b = ClusterNode::start_by(store, &links[1].url(store.url()), "b", &["--settle", "1s"]);
    a.until("joined");
    b.until("joined");
    declare(store, some(10));
    wait_until("all run", || total(&[&a, &b]) == 10);
    wait_until("both have some", || !a.running().is_empty() && !b.running().is_empty());
    // One is cut off; the other takes all.
    links[0].set(Link::Silent);
    wait_until("the other has all", || b.running().len() == 10 && a.running().is_empty());
    assert_never_doubled([&a, &b]);
    links[0].set(Link::Open);
    wait_until("they are spread again", || a.running().len() == 5 && b.running().len() == 5);
    // Both are: nobody runs anything, until the server is back.
    for link in &links {
        link.set(Link::Refused);
    }
    let (from, began) = (micros_now(), std::time::Instant::now());
    wait_until("all have stopped", || total(&[&a, &b]) == 0);
    std::thread::sleep(AWAY.saturating_sub(began.elapsed())); // passes time: an outage has a length
    assert_eq!(total(&[&a, &b]), 0, "nobody starts anything");
    for link in &links {
        link.set(Link::Open);
    }
    wait_until("all run again", || total(&[&a, &b]) == 10);
    assert_never_doubled([&a, &b]);
    for run in runs([&a, &b]).into_values().flatten().filter(|run| run.started < from) {
        assert!(run.ended.unwrap() < from + micros(TTL), "{run:?}, cut off at {from}");
    }
}

fn of_two_nodes_with_one_name_the_second_is_refused(store: &Store) {
    let first = ClusterNode::joined(store, "a", &[]);
    declare(store, some(3));
    wait_until("all run", || first.running().len() == 3);
    let mut second = ClusterNode::start(store, "a", &[]);
    assert_eq!(second.exit(), 1, "{}", second.log());
    let told = second.log();
    assert!(
        told.contains("node a is already in the cluster") && told.contains(&first.pid().to_string()),
        "{told}"
    );
    assert_eq!(first.running().len(), 3, "the first goes on");
    assert!(first.events("lost").is_empty() && second.events("started").is_empty());
    // One that crashed is waited for.
    let mut first = first;
    first.kill();
    let again = ClusterNode::joined(store, "a", &[]);
    wait_until("all run again", || again.running().len() == 3);
    assert_never_doubled([&first, &second, &again]);
}

fn a_daemon_waits_for_a_node_with_its_label(store: &Store) {
    let a = ClusterNode::joined(store, "a", &["--label", "zone=a"]);
    declare(store, vec![daemon("bench/any"), daemon("bench/far").on("zone", "b")]);
    wait_until("the one runs that may be anywhere", || a.running() == ["bench/any"]);
    let far = || {
        let rows = store.tenure(&["daemon", "list", "--prefix", "bench/far", "--json"]).ok().json();
        rows[0].clone()
    };
    wait_until("it is said why the other does not", || {
        far()["reason"].as_str().is_some_and(|reason| reason.contains("zone=b"))
    });
    assert_eq!((&far()["state"], &far()["moves"]), (&"unassigned".into(), &0.into()));
    let status = store.tenure(&["status", "--json"]).ok().json();
    assert_eq!(
        (&status["health"], &status["daemons"]["active"]),
        (&"degraded".into(), &1.into()),
        "{status}"
    );
    let b = ClusterNode::joined(store, "b", &["--label", "zone=b", "--version", "2"]);
    wait_until("it runs where the label is", || b.running() == ["bench/far"]);
    assert_eq!(far()["node"], "b");
}
