//! What an operator sees of a cluster, and does with its daemons.

use serde_json::Value;
use tenure::{DaemonName, DaemonSpec};

use crate::harness::{ClusterNode, Said, Store, assert_never_doubled, declare, tests_on, wait_until};

tests_on!(sqlite:
    s69_daemons_are_listed_paused_moved_and_retired_by_hand,
    the_lead_is_resigned_by_hand,
    a_cluster_that_is_not_there_is_shown_as_such,
);
tests_on!(postgres:
    s69_daemons_are_listed_paused_moved_and_retired_by_hand,
    the_lead_is_resigned_by_hand,
    a_cluster_that_is_not_there_is_shown_as_such,
);
tests_on!(mariadb:
    s69_daemons_are_listed_paused_moved_and_retired_by_hand,
    the_lead_is_resigned_by_hand,
    a_cluster_that_is_not_there_is_shown_as_such,
);
tests_on!(mysql:
    s69_daemons_are_listed_paused_moved_and_retired_by_hand,
    the_lead_is_resigned_by_hand,
    a_cluster_that_is_not_there_is_shown_as_such,
);

fn specs() -> Vec<DaemonSpec> {
    let names = ["bench/1", "bench/2", "bench/3", "other/1"];
    names.iter().map(|name| DaemonSpec::new(DaemonName::new(*name).unwrap())).collect()
}

fn row(store: &Store, daemon: &str) -> Value {
    let rows = store.tenure(&["daemon", "list", "--prefix", daemon, "--json"]).ok().json();
    rows[0].clone()
}

/// Fails unless it says so on standard error, with this code.
fn refused(said: &Said, code: i32, why: &str) {
    assert_eq!(said.code, code, "{said:?}");
    assert!(said.stderr.contains(why), "{why}: {said:?}");
}

fn s69_daemons_are_listed_paused_moved_and_retired_by_hand(store: &Store) {
    let a = ClusterNode::joined(store, "a", &["--version", "1.0", "--label", "zone=a"]);
    let b = ClusterNode::joined(store, "b", &[]);
    declare(store, specs());
    let run = || a.running().len() + b.running().len();
    wait_until("all run that can", || run() == 3);
    // Listed: as a table, as JSON, and in part.
    let table = store.tenure(&["daemon", "list"]).ok().stdout;
    assert!(table.starts_with("DAEMON") && table.lines().count() == 5, "{table}");
    let nowhere = table.lines().find(|line| line.starts_with("other/1")).unwrap();
    wait_until("it is said why", || {
        row(store, "other/1")["reason"].as_str().is_some_and(|why| why.contains("agent"))
    });
    assert!(nowhere.contains("unassigned"), "{table}");
    assert_eq!(row(store, "other/1")["node"], Value::Null);
    let on_a = store.tenure(&["daemon", "list", "--node", "a", "--json"]).ok().json();
    assert_eq!(on_a.as_array().unwrap().len(), a.running().len());
    let page = store.tenure(&["daemon", "list", "--after", "bench/1", "--limit", "1", "--json"]).ok().json();
    assert_eq!((page.as_array().unwrap().len(), &page[0]["name"]), (1, &"bench/2".into()));
    // Degraded, and not unhealthy: what runs nowhere is named, the exit code stays 0.
    let status = store.tenure(&["status", "--json"]).ok().json();
    assert_eq!((&status["health"], &status["leader"]["node"]), (&"degraded".into(), &"a".into()), "{status}");
    assert_eq!((&status["leader"]["term"], &status["daemons"]["active"]), (&1.into(), &3.into()), "{status}");
    assert_eq!(status["daemons"]["nowhere"][0]["name"], "other/1", "{status}");
    let nodes = status["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2, "{status}");
    assert_eq!((&nodes[0]["name"], &nodes[0]["state"]), (&"a".into(), &"up".into()), "{status}");
    assert_eq!((&nodes[0]["version"], &nodes[0]["labels"]["zone"]), (&"1.0".into(), &"a".into()), "{status}");
    assert_eq!(nodes[0]["pid"], a.pid().as_raw(), "{status}");
    let text = store.tenure(&["status"]).ok().stdout;
    for part in ["leader    a, term 1", "3 of 4 run", "other/1 runs nowhere", "zone=a"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Paused: it stays so, and says by whom; paused twice is paused.
    for _ in 0..2 {
        let said = store.tenure(&["daemon", "pause", "bench/1", "--by", "ada", "--json"]).ok().json();
        assert_eq!(said["paused_by"], "ada");
    }
    wait_until("it has stopped", || run() == 2);
    wait_until("its row says so", || row(store, "bench/1")["state"] == "unassigned");
    assert!(row(store, "bench/1")["reason"].as_str().unwrap().contains("paused by ada"));
    let table = store.tenure(&["daemon", "list", "--prefix", "bench/1"]).ok().stdout;
    assert!(table.contains("paused by ada"), "{table}");
    let said = store.tenure(&["daemon", "resume", "--name", "bench/1"]).ok();
    assert!(said.stdout.starts_with("bench/1: "), "{said:?}");
    wait_until("it runs again", || run() == 3);
    // Moved, and pinned there.
    let to = if a.running().contains(&"bench/2".to_owned()) { "b" } else { "a" };
    let target = if to == "a" { &a } else { &b };
    let said = store.tenure(&["daemon", "move", "bench/2", "--to", to, "--json"]).ok().json();
    assert_eq!(said["pinned_to"], to);
    wait_until("it has moved", || target.running().contains(&"bench/2".to_owned()));
    wait_until("its row says so", || row(store, "bench/2")["state"] == "active");
    assert_eq!(row(store, "bench/2")["node"], to);
    assert_eq!(
        store.tenure(&["daemon", "move", "bench/2", "--anywhere", "--json"]).ok().json()["pinned_to"],
        Value::Null
    );
    // Retired: it is gone for good.
    store.tenure(&["daemon", "retire", "bench/3"]).ok();
    wait_until("it is gone", || {
        store.tenure(&["daemon", "list", "--prefix", "bench/3", "--json"]).ok().stdout == "[]\n"
    });
    assert_eq!(run(), 2);
    assert_never_doubled([&a, &b]);
    what_cannot_be_is_refused(store);
}

fn what_cannot_be_is_refused(store: &Store) {
    for verb in ["pause", "resume", "retire"] {
        refused(&store.tenure(&["daemon", verb, "bench/none"]), 1, "there is no daemon bench/none");
        refused(&store.tenure(&["daemon", verb, ""]), 2, "daemon name");
        assert_eq!(store.tenure(&["daemon", verb]).code, 2);
    }
    refused(&store.tenure(&["daemon", "move", "bench/none", "--to", "a"]), 1, "there is no daemon");
    refused(&store.tenure(&["daemon", "move", "bench/1", "--to", "z"]), 1, "there is no node z");
    refused(&store.tenure(&["daemon", "move", "other/1", "--to", "a"]), 1, "cannot run daemon other/1");
    refused(&store.tenure(&["daemon", "move", "bench/1", "--to", ""]), 2, "node name");
    assert_eq!(store.tenure(&["daemon", "move", "bench/1"]).code, 2);
    assert_eq!(store.tenure(&["daemon", "move", "bench/1", "--to", "a", "--anywhere"]).code, 2);
    assert_eq!(store.tenure(&["daemon", "pause", "bench/1", "--by", ""]).code, 2);
    assert_eq!(store.tenure(&["daemon", "list", "--limit", "0"]).code, 2);
    refused(&store.tenure(&["daemon", "list", "--node", ""]), 2, "node name");
    refused(&store.tenure(&["daemon", "list", "--after", "a\nb"]), 2, "daemon name");
    refused(&store.tenure(&["lease", "release", "tenure/daemon/bench/1"]), 2, "tenure daemon pause");
    // As programs see it: one object.
    let said = store.tenure(&["daemon", "pause", "bench/none", "--json"]);
    assert_eq!((said.code, &said.json()["exit_code"]), (1, &1.into()));
    assert!(row(store, "bench/1")["paused_by"].is_null() && row(store, "bench/1")["pinned_to"].is_null());
}

fn the_lead_is_resigned_by_hand(store: &Store) {
    let a = ClusterNode::joined(store, "a", &[]);
    a.until("leads");
    let b = ClusterNode::joined(store, "b", &[]);
    declare(store, specs());
    wait_until("all run that can", || a.running().len() + b.running().len() == 3);
    let said = store.tenure(&["lease", "resign", "--by", "ada"]).ok();
    assert!(said.stdout.starts_with("a (term 1)"), "{said:?}");
    let term = b.until("leads")["term"].as_u64().unwrap();
    assert!(term > 1);
    a.until("deposed");
    wait_until("all can see it", || store.tenure(&["status", "--json"]).ok().json()["leader"]["node"] == "b");
    assert_eq!(a.events("lost").len() + b.events("lost").len(), 0, "no daemon was disturbed");
    let history = store.history("tenure/leader");
    assert_eq!(&history[..2], ["1 acquired", "1 resigned"], "{history:?}");
}

fn a_cluster_that_is_not_there_is_shown_as_such(store: &Store) {
    store.tenure(&["migrate"]).ok();
    assert_eq!(store.tenure(&["daemon", "list"]).ok().stdout, "no daemons\n");
    assert_eq!(store.tenure(&["daemon", "list", "--json"]).ok().stdout, "[]\n");
    let status = store.tenure(&["status", "--json"]).ok().json();
    assert_eq!((&status["health"], &status["leader"]), (&"healthy".into(), &Value::Null));
    assert_eq!((&status["nodes"], &status["daemons"]["total"]), (&Value::Array(vec![]), &0.into()));
    let said = store.tenure(&["lease", "resign"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stdout.contains("nobody holds tenure/leader"), "{said:?}");
    // Declared, and no node there: that is not well at all, until they are not wanted any more.
    declare(store, specs());
    let said = store.tenure(&["status", "--json"]);
    let status = said.json();
    assert_eq!(
        (said.code, &status["health"], &status["exit_code"]),
        (1, &"unhealthy".into(), &1.into()),
        "{status}"
    );
    let why = row(store, "bench/1")["reason"].as_str().unwrap().to_owned();
    assert!(why.contains("nobody leads"), "{why}");
    for spec in specs() {
        store.tenure(&["daemon", "retire", spec.name.as_str()]).ok();
    }
    assert_eq!(store.tenure(&["status", "--json"]).ok().json()["health"], "healthy");
}
