//! Names are data.

use crate::harness::{Run, Store, tests_on};

tests_on!(sqlite: s19_two_nodes_of_one_name_are_told_apart, s20_names_are_compared_byte_by_byte, s20_names_that_are_no_names_are_refused);
tests_on!(postgres: s19_two_nodes_of_one_name_are_told_apart, s20_names_are_compared_byte_by_byte, s20_names_that_are_no_names_are_refused);
tests_on!(pgbouncer: s19_two_nodes_of_one_name_are_told_apart, s20_names_are_compared_byte_by_byte);
tests_on!(mariadb:
    s19_two_nodes_of_one_name_are_told_apart,
    s20_names_are_compared_byte_by_byte,
    s20_names_that_are_no_names_are_refused,
);
tests_on!(mysql:
    s19_two_nodes_of_one_name_are_told_apart,
    s20_names_are_compared_byte_by_byte,
    s20_names_that_are_no_names_are_refused,
);

fn s19_two_nodes_of_one_name_are_told_apart(store: &Store) {
    let twin = || Run::calm(store).with(&["--node", "twin"]);
    let (mut first, term) = twin().holding(&["sleep", "1000"]);
    let before = store.leases()[0]["incarnation"].clone();
    let second = twin().waiting(&["sleep", "1000"]);
    assert_eq!(second.until("waiting")["holder"], "twin", "it waits for its namesake");
    first.signal(nix::sys::signal::Signal::SIGTERM);
    first.exit();
    assert_eq!(second.until("acquired")["term"], term + 1);
    let row = store.leases()[0].clone();
    assert_eq!(row["node"], "twin");
    assert_ne!(row["incarnation"], before);
    assert_eq!(row["pid"], second.pid().as_raw());
}

fn s20_names_are_compared_byte_by_byte(store: &Store) {
    let long = "n".repeat(200);
    let names = [
        "a",
        "A",
        "a ",
        " a",
        "ä",
        "a\u{308}",
        "straße",
        "STRASSE",
        "it's",
        "\"quoted\"",
        "; drop table tenure_leases",
        "%_\\",
        "$1 ?1 {leases}",
        "日本語",
        "🦀",
        &long,
    ];
    let holders: Vec<_> =
        names.iter().map(|name| Run::calm(store).lease(name).start(&["sleep", "1000"])).collect();
    for (holder, name) in holders.iter().zip(names) {
        let acquired = holder.until("acquired");
        assert_eq!((&acquired["lease"], &acquired["term"]), (&name.into(), &1.into()));
        assert!(holder.events("waiting").is_empty(), "{name} waits for another name");
    }
    let mut listed: Vec<_> =
        store.leases().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    let mut expected = names.map(str::to_owned);
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
    let said = store.tenure(&["lease", "release", "; drop table tenure_leases"]).ok();
    assert!(said.stdout.contains("told at its next renewal"), "{said:?}");
}

fn s20_names_that_are_no_names_are_refused(store: &Store) {
    let long = "n".repeat(201);
    let wide = "ä".repeat(101);
    for (name, reason) in [
        ("", "empty"),
        (long.as_str(), "201 bytes"),
        (wide.as_str(), "202 bytes"),
        ("line\nbreak", "U+000A"),
        ("bell\u{7}", "U+0007"),
        ("\u{1b}[31m", "U+001B"),
        ("delete\u{7f}", "U+007F"),
        ("\u{85}", "U+0085"),
    ] {
        let mut runner = Run::calm(store).lease(name).start(&["true"]);
        assert_eq!(runner.exit(), 2, "{name:?}");
        assert!(runner.stderr().contains(reason), "{name:?}: {}", runner.stderr());
        assert!(!runner.stderr().contains('\u{1b}'), "an escape sequence is not repeated");
        let said = store.tenure(&["lease", "release", name]);
        assert_eq!(said.code, 2, "{said:?}");
    }
    let mut node = Run::calm(store).with(&["--node", "bell\u{7}"]).start(&["true"]);
    assert_eq!(node.exit(), 2);
    assert!(node.stderr().contains("node name"), "{}", node.stderr());
}
