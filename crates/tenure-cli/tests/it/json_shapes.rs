//! The JSON of every command that lists, shows or tells a status, byte by byte: programs read it, so it may not change by
//! accident. What is different each time (times, processes, machines) is told as `~`.
//!
//! `TENURE_WRITE_SNAPSHOTS=1` writes the file anew; what changed in it then shows in review.

use std::path::Path;

use tenure::core::subscription::{Rewind, SubscriptionName};
use tenure::event::Position;
use tenure::{DaemonName, DaemonSpec, OpenOptions};

use crate::harness::{
    Answer, ClusterNode, Receiver, Relay, Run, Store, block_on, declare, tests_on, wait_until,
};

tests_on!(sqlite: the_json_of_commands_stays_as_it_is);

/// Fields that are different each time.
const VARY: [&str; 20] = [
    "at",
    "created_at",
    "due_at",
    "finished_at",
    "acquired_at",
    "renewed_at",
    "expires_at",
    "released_at",
    "since",
    "deadline",
    "joined_at",
    "seen_at",
    "moved_at",
    "until",
    "took_ms",
    "pid",
    "incarnation",
    "machine",
    "expires_in_ms",
    "lag_ms",
];

fn the_json_of_commands_stays_as_it_is(store: &Store) {
    let mut told = String::new();
    let mut tell = |args: &[&str]| {
        let said = store.tenure(&[args, &["--json"]].concat());
        told.push_str(&format!("$ tenure {} [{}]\n{}\n", args.join(" "), said.code, masked(&said.stdout)));
    };
    tell(&["migrate"]);
    for empty in
        [["outbox", "list"], ["lease", "list"], ["lease", "history"], ["daemon", "list"], ["audit", "list"]]
    {
        tell(&empty);
    }
    tell(&["status"]);
    outbox(store, &mut tell);
    leases(store, &mut tell);
    cluster(store, &mut tell);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/json_shapes.txt");
    if std::env::var_os("TENURE_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &told).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap();
    for (number, (now, then)) in told.lines().zip(known.lines()).enumerate() {
        assert_eq!(now, then, "line {} of json_shapes.txt", number + 1);
    }
    assert_eq!(told, known, "TENURE_WRITE_SNAPSHOTS=1 writes it anew");
}

fn id(number: u32) -> String {
    format!("00000000-0000-7000-8000-{number:012}")
}

fn outbox(store: &Store, tell: &mut dyn FnMut(&[&str])) {
    let (rejected, failing, fine, late) = (id(1), id(2), id(3), id(4));
    tell(&["send", "--id", &rejected, "--topic", "bad", "--type", "A", "--header", "who=ada", "{\"n\":1}"]);
    tell(&["send", "--id", &failing, "--topic", "worse", "--type", "B", "--source", "s", "2"]);
    tell(&["send", "--id", &fine, "--topic", "good", "3"]);
    tell(&["send", "--id", &late, "--topic", "good", "--in", "1h", "4"]);
    let receiver = Receiver::with(|request, _| match request.header("ce-subject") {
        "bad" => Answer::Say("HTTP/1.1 422 Nonsense\r\ncontent-length: 8\r\n\r\nno: why?".to_owned()),
        "worse" => Answer::Say("HTTP/1.1 500 Broken\r\ncontent-length: 0\r\n\r\n".to_owned()),
        _ => Answer::Apply,
    });
    let brisk = ["--retry-first", "20ms", "--retry-cap", "100ms", "--max-attempts", "2", "--on-dead", "halt"];
    let mut relay = Relay::start(store, "n1", &receiver.url(), &brisk);
    wait_until("two are dead, one has gone", || {
        let numbers = store.tenure(&["outbox", "stats", "--json"]).ok().json();
        numbers["dead"] == 2 && numbers["dispatched"] == 1
    });
    assert_eq!(relay.stop(), 0);
    tell(&["outbox", "stats"]);
    tell(&["outbox", "list"]);
    tell(&["outbox", "list", "--state", "dead"]);
    tell(&["outbox", "list", "--before", "3", "--limit", "1"]);
    for message in [&rejected, &failing, &fine, &late] {
        tell(&["outbox", "show", message]);
    }
    tell(&["outbox", "show", "nothing"]);
    tell(&["status"]);
    tell(&["outbox", "retry", "--all", "--dry-run"]);
    tell(&["outbox", "retry", "--id", &rejected, "--by", "ada"]);
    tell(&["outbox", "discard", "--topic", "worse", "--by", "ada"]);
    tell(&["outbox", "discard", "--id", &fine, "--by", "ada"]);
    tell(&["outbox", "list"]);
    tell(&["outbox", "list", "--from", "-1h", "--until", "2999-01-01T00:00:00Z", "--limit", "1"]);
    tell(&["outbox", "list", "--until", "-1h"]);
    tell(&["audit", "list"]);
    tell(&["audit", "list", "--action", "outbox discard", "--limit", "1"]);
}

fn leases(store: &Store, tell: &mut dyn FnMut(&[&str])) {
    let (mut holder, _) = Run::calm(store).with(&["--node", "n2"]).holding(&["sleep", "1000"]);
    tell(&["lease", "list"]);
    tell(&["lease", "release", "job", "--by", "ada"]);
    tell(&["lease", "release", "never"]);
    assert_eq!(holder.exit(), 1);
    tell(&["lease", "list"]);
    tell(&["lease", "history"]);
    tell(&["lease", "history", "job", "--limit", "1"]);
}

fn cluster(store: &Store, tell: &mut dyn FnMut(&[&str])) {
    let specs = ["bench/1", "bench/2", "other/1"].map(|name| DaemonSpec::new(DaemonName::new(name).unwrap()));
    declare(store, specs.to_vec());
    tell(&["status"]);
    let node = ClusterNode::joined(store, "a", &["--version", "1.0", "--label", "zone=a"]);
    let row =
        |daemon: &str| store.tenure(&["daemon", "list", "--prefix", daemon, "--json"]).ok().json()[0].clone();
    wait_until("two run", || node.running().len() == 2);
    wait_until("it is said why the third does not", || {
        row("other/1")["reason"].as_str().is_some_and(|why| why.contains("agent"))
    });
    wait_until("the rows say so", || {
        ["bench/1", "bench/2"].iter().all(|daemon| row(daemon)["state"] == "active")
    });
    block_on(async {
        let database = tenure::open(store.url(), OpenOptions::default()).await.unwrap();
        let name = SubscriptionName::new("mails").unwrap();
        assert_eq!(database.checkpoints().rewind(&name, Position(0), "ada").await.unwrap(), Rewind::Moved);
    });
    tell(&["daemon", "list"]);
    tell(&["daemon", "list", "--after", "bench/1", "--limit", "1"]);
    tell(&["daemon", "pause", "other/1", "--by", "ada"]);
    tell(&["status"]);
    tell(&["daemon", "pause", "none"]);
}

/// The text with `~` for the value of every field that varies, unless it is null.
fn masked(json: &str) -> String {
    let mut text = json.trim_end().to_owned();
    for name in VARY {
        let key = format!("\"{name}\":");
        let mut from = 0;
        while let Some(found) = text[from..].find(&key) {
            let start = from + found + key.len();
            let rest = &text[start..];
            let end = match rest.strip_prefix('"') {
                Some(inner) => inner.find('"').map_or(rest.len(), |end| end + 2),
                None => rest.find([',', '}', ']']).unwrap_or(rest.len()),
            };
            if !rest.starts_with("null") {
                text.replace_range(start..start + end, "~");
            }
            from = start;
        }
    }
    text
}
