//! Five nodes of a cluster, killed, frozen, restarted and cut off at random while their daemons write under their fences:
//! in the end every daemon runs on exactly one living node, and no generation ever wrote after a later one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure::{DaemonName, DaemonSpec};

use crate::harness::{ClusterNode, Store, assert_never_doubled, declare, runs, tests_on, wait_until};

tests_on!(sqlite: s68_daemons_survive_kills_freezes_and_restarts_of_their_nodes);
tests_on!(postgres: s68_daemons_survive_kills_freezes_and_restarts_of_their_nodes);
tests_on!(mariadb:
    s68_daemons_survive_kills_freezes_and_restarts_of_their_nodes,
);
tests_on!(mysql:
    s68_daemons_survive_kills_freezes_and_restarts_of_their_nodes,
);

/// How long faults go on.
const CHAOS: Duration = Duration::from_secs(30);
const NODES: usize = 5;
const DAEMONS: usize = 30;
/// Each daemon writes so often; all of them together, with the machine to themselves, a few hundred times a second.
const OPTIONS: [&str; 4] = ["--ledger", "60ms", "--settle", "2s"];

fn s68_daemons_survive_kills_freezes_and_restarts_of_their_nodes(store: &Store) {
    let seed = fastrand::u64(..);
    eprintln!("the faults' seed is {seed}; what they hit is up to the machine");
    let mut chance = fastrand::Rng::with_seed(seed);
    store.tenure(&["migrate"]).ok();
    let url = store.known_url();
    let start = |n: usize| ClusterNode::start_by(store, &url, &format!("n{n}"), &OPTIONS);
    let mut nodes: Vec<ClusterNode> = (0..NODES).map(start).collect();
    let mut former = Vec::new();
    let daemon = |n: usize| DaemonSpec::new(DaemonName::new(format!("bench/{n:02}")).unwrap());
    declare(store, (0..DAEMONS).map(daemon).collect());
    wait_until("all daemons run", || running(&nodes).len() == DAEMONS);
    let began = Instant::now();
    let (mut kills, mut freezes, mut restarts, mut cuts) = (0, 0, 0, 0);
    while began.elapsed() < CHAOS {
        revive(&mut nodes, &mut former, &start);
        let victim = chance.usize(..NODES);
        match chance.u32(..10) {
            0..=2 => {
                nodes[victim].kill();
                former.push(std::mem::replace(&mut nodes[victim], start(victim)));
                kills += 1;
            }
            3 | 4 => {
                let span = Duration::from_millis(chance.u64(3_000..8_000));
                nodes[victim].freeze_while(store, || pass(span));
                freezes += 1;
            }
            5 => {
                for (n, node) in nodes.iter_mut().enumerate() {
                    // One that was started a moment ago may not catch signals yet: then the signal ends it.
                    let code = node.stop();
                    assert!([0, 143].contains(&code), "{code}: {}", node.log());
                    former.push(std::mem::replace(node, start(n)));
                }
                restarts += 1;
            }
            6 | 7 if !store.is_sqlite() => {
                store.end_known_sessions();
                cuts += 1;
            }
            _ => pass(Duration::from_millis(chance.u64(100..1_500))),
        }
        assert_reasons(&daemons(store));
    }
    eprintln!("{kills} kills, {freezes} freezes, {restarts} rolling restarts, {cuts} cuts; seed {seed}");
    assert!(kills + freezes + restarts > 3, "too little happened");
    revive(&mut nodes, &mut former, &start);
    nodes.iter().for_each(|node| drop(node.until("joined")));
    at_rest(store, &nodes);
    // One that is frozen until others have its daemons writes once more when it wakes.
    let frozen = (0..NODES).max_by_key(|n| nodes[*n].running().len()).unwrap();
    let theirs = nodes[frozen].running();
    let (before, after) = nodes.split_at_mut(frozen);
    let (stopped, after) = after.split_first_mut().unwrap();
    stopped.freeze_while(store, || {
        wait_until_long("others have the daemons of a frozen node", || {
            let elsewhere = running(before).into_iter().chain(running(after));
            let elsewhere: BTreeSet<String> = elsewhere.map(|(daemon, _, _)| daemon).collect();
            theirs.iter().all(|daemon| elsewhere.contains(daemon))
        });
    });
    wait_until("its write is refused", || !stopped.events("refused").is_empty());
    at_rest(store, &nodes);
    // What runs is what the rows say, each once.
    let rows = daemons(store);
    let now_running = running(&nodes);
    assert_eq!(now_running.len(), DAEMONS, "each on one node only: {now_running:?}");
    for row in &rows {
        let there =
            (row["name"].as_str().unwrap(), row["node"].as_str().unwrap(), row["generation"].as_u64());
        let runs_there = now_running.iter().any(|(d, n, g)| (d.as_str(), n.as_str(), Some(*g)) == there);
        assert!(runs_there, "{row} is not among {now_running:?}");
    }
    let all: Vec<&ClusterNode> = former.iter().chain(&nodes).collect();
    assert_never_doubled(all.iter().copied());
    assert_ledger(store, &all, &rows);
    for node in &mut nodes {
        assert_eq!(node.stop(), 0, "{}", node.log());
    }
}

/// Waits until all run, and none was moved for longer than it takes to settle: what was restarted gets its share.
fn at_rest(store: &Store, nodes: &[ClusterNode]) {
    let (mut last, mut since) = (Vec::new(), Instant::now());
    wait_until_long("all daemons run and none moves", || {
        let rows = daemons(store);
        assert_reasons(&rows);
        let well = rows.len() == DAEMONS
            && rows.iter().all(|row| row["state"] == "active" && row["next_node"].is_null())
            && running(nodes).len() == DAEMONS;
        let generations: Vec<_> = rows.iter().map(|row| row["generation"].clone()).collect();
        if !well || generations != last {
            (last, since) = (generations, Instant::now());
        }
        since.elapsed() > Duration::from_secs(4)
    });
}

/// Starts those anew that could not join, for their sessions were ended: as whatever starts programs would.
fn revive(nodes: &mut [ClusterNode], former: &mut Vec<ClusterNode>, start: &impl Fn(usize) -> ClusterNode) {
    for (n, node) in nodes.iter_mut().enumerate() {
        if node.has_ended() {
            assert!(node.events("joined").is_empty(), "{}", node.log());
            former.push(std::mem::replace(node, start(n)));
        }
    }
}

/// The daemons that run now: which, where, of which generation.
fn running(nodes: &[ClusterNode]) -> BTreeSet<(String, String, u64)> {
    let open = runs(nodes).into_iter().flat_map(|(daemon, runs)| {
        let open = runs.into_iter().filter(|run| run.ended.is_none());
        open.map(move |run| (daemon.clone(), run.node, run.generation))
    });
    open.collect()
}

fn daemons(store: &Store) -> Vec<Value> {
    let listed = store.tenure(&["daemon", "list", "--json"]);
    if listed.code != 0 {
        // On a server whose sessions were just ended.
        assert!(!store.is_sqlite(), "{listed:?}");
        return Vec::new();
    }
    listed.json().as_array().expect("an array").clone()
}

/// A daemon that is nowhere says why.
fn assert_reasons(rows: &[Value]) {
    for row in rows.iter().filter(|row| row["node"].is_null()) {
        assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row}");
    }
}

fn assert_ledger(store: &Store, nodes: &[&ClusterNode], rows: &[Value]) {
    let ledger = store.table("cluster_ledger");
    let count = |sql: String| store.count(&sql).unwrap();
    let written = count(format!("select count(*) from {ledger}"));
    assert!(written > 500, "only {written} rows");
    let back = count(format!(
        "select count(*) from (select generation < lag(generation) over (partition by daemon order by id) as back \
         from {ledger}) as steps where back"
    ));
    assert_eq!(back, 0, "a generation wrote after a later one");
    let mut refused = 0;
    for event in nodes.iter().flat_map(|node| node.events("refused")) {
        let (daemon, generation, seq) =
            (event["daemon"].as_str().unwrap(), &event["generation"], &event["seq"]);
        let committed = count(format!(
            "select count(*) from {ledger} where daemon = '{daemon}' and generation = {generation} and seq = {seq}"
        ));
        assert_eq!(committed, 0, "{event} was committed");
        refused += 1;
    }
    for row in rows {
        let (daemon, generation) = (row["name"].as_str().unwrap(), &row["generation"]);
        let last = count(format!("select max(generation) from {ledger} where daemon = '{daemon}'"));
        assert_eq!(&Value::from(last), generation, "{daemon} does not write");
    }
    eprintln!("{written} rows, {refused} writes refused");
}

fn pass(time: Duration) {
    std::thread::sleep(time); // passes time: faults have a length
}

/// Ttls, backoffs and the time to settle add up: more patience than usual.
fn wait_until_long(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        pass(Duration::from_millis(100));
    }
}
