//! `tenure demo`: real kills, and a ledger in which nothing is missing.

use serde_json::Value;

use crate::harness::{Said, children, is_running, run, tenure, wait_until};

fn tell(args: &[&str]) -> Said {
    run(tenure().args(args))
}

fn last_line(stdout: &str) -> Value {
    serde_json::from_str(stdout.lines().last().unwrap_or_default()).expect("the last line is the result")
}

#[test]
fn b1_nothing_is_lost_doubled_or_out_of_order_while_the_leader_is_killed() {
    let said = tell(&[
        "demo",
        "--seconds",
        "8",
        "--kill-every",
        "1500ms",
        "--rate",
        "300",
        "--json",
        "--listen",
        "127.0.0.1:0",
    ])
    .ok();
    for line in said.stdout.lines() {
        let told: Value = serde_json::from_str(line).expect("one object for each line");
        assert!(
            ["listening", "status", "result"].contains(&told["event"].as_str().unwrap_or_default()),
            "{told}"
        );
    }
    let result = last_line(&said.stdout);
    for nothing in ["unfinished", "lost", "doubled", "out_of_order"] {
        assert_eq!(result[nothing], 0, "{result}");
    }
    assert_eq!(result["committed"], result["applied"], "{result}");
    assert!(result["committed"].as_u64().is_some_and(|count| count > 300), "{result}");
    assert!(result["duplicates_suppressed"].is_u64(), "{result}");
    let failovers = result["failovers_ms"].as_array().expect("an array");
    assert!(
        failovers.len() >= 2 && failovers.iter().all(|ms| ms.as_u64().is_some_and(|ms| ms > 0)),
        "{result}"
    );
    assert_eq!(result["settings"]["nodes"], 3, "{result}");
}

#[test]
fn a_demo_without_kills_is_quiet_and_its_file_can_be_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let kept = directory.path().join("kept");
    let path = kept.to_str().expect("a path");
    let args = ["demo", "--nodes", "1", "--seconds", "2", "--kill-every", "0s", "--keep", path];
    let said = tell(&args).ok();
    assert!(said.stdout.contains("Nothing was lost"), "{said:?}");
    assert!(said.stdout.contains("failovers                              0"), "{said:?}");
    let db = format!("sqlite:{path}/demo.db");
    let stats = tell(&["outbox", "stats", "--db", &db, "--json"]).ok().json();
    assert!(stats["dispatched"].as_u64().is_some_and(|count| count > 50), "{stats}");
    assert_eq!(stats["pending"], 0, "{stats}");
    let status = tell(&["status", "--db", &db, "--json"]).ok().json();
    let reader = &status["subscriptions"][0];
    assert_eq!(
        (&reader["name"], &reader["behind"], &reader["parked"]),
        (&"loans".into(), &0.into(), &0.into())
    );
    assert!(tell(&["status", "--db", &db]).ok().stdout.contains("reader    loans at "));
    // A second demo would count the first one's loans.
    let again = tell(&args);
    assert!(again.code == 2 && again.stderr.contains("is there already"), "{again:?}");
}

#[test]
fn a_demo_that_is_ended_takes_its_nodes_with_it() {
    for signal in [nix::sys::signal::Signal::SIGTERM, nix::sys::signal::Signal::SIGKILL] {
        let mut command = tenure();
        command.args(["demo", "--seconds", "60", "--json"]);
        let mut demo = command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a demo");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(demo.id()).expect("a pid"));
        let mut nodes = Vec::new();
        wait_until("its nodes", || {
            nodes = children(pid);
            nodes.len() >= 3
        });
        nix::sys::signal::kill(pid, signal).expect("a signal");
        demo.wait().expect("an end");
        wait_until("the nodes to end", || nodes.iter().all(|pid| !is_running(*pid)));
    }
}

#[test]
fn a_demo_has_a_file_of_its_own() {
    let mut command = tenure();
    command.args(["demo", "--db", "sqlite:somewhere.db"]);
    let said = run(&mut command);
    assert!(said.code == 2 && said.stderr.contains("of its own"), "{said:?}");
}
