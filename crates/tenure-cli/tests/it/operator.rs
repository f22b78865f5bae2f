//! What an operator sees and does.

use nix::sys::signal::Signal;

use crate::harness::{Acts, Run, Store, is_running, tests_on, wait_until};

tests_on!(sqlite:
    a_revoked_holder_ends_its_command_and_the_next_acts_alone,
    a_forced_release_frees_the_lease_at_once_and_fences_the_holder,
    what_nobody_holds_cannot_be_released,
    lists_are_one_array_of_json_or_a_table,
    histories_are_newest_first_with_their_causes,
    asked_by_sigterm_the_command_may_tidy_up,
    a_command_that_ignores_sigterm_is_killed_all_the_same,
);
tests_on!(postgres:
    a_revoked_holder_ends_its_command_and_the_next_acts_alone,
    a_forced_release_frees_the_lease_at_once_and_fences_the_holder,
    what_nobody_holds_cannot_be_released,
    lists_are_one_array_of_json_or_a_table,
    histories_are_newest_first_with_their_causes,
    asked_by_sigterm_the_command_may_tidy_up,
    a_command_that_ignores_sigterm_is_killed_all_the_same,
);
tests_on!(pgbouncer:
    a_revoked_holder_ends_its_command_and_the_next_acts_alone,
    a_forced_release_frees_the_lease_at_once_and_fences_the_holder,
    asked_by_sigterm_the_command_may_tidy_up,
);
tests_on!(mariadb:
    a_revoked_holder_ends_its_command_and_the_next_acts_alone,
    a_forced_release_frees_the_lease_at_once_and_fences_the_holder,
    what_nobody_holds_cannot_be_released,
    lists_are_one_array_of_json_or_a_table,
    histories_are_newest_first_with_their_causes,
    asked_by_sigterm_the_command_may_tidy_up,
    a_command_that_ignores_sigterm_is_killed_all_the_same,
);
tests_on!(mysql:
    a_revoked_holder_ends_its_command_and_the_next_acts_alone,
    a_forced_release_frees_the_lease_at_once_and_fences_the_holder,
    what_nobody_holds_cannot_be_released,
    lists_are_one_array_of_json_or_a_table,
    histories_are_newest_first_with_their_causes,
    asked_by_sigterm_the_command_may_tidy_up,
    a_command_that_ignores_sigterm_is_killed_all_the_same,
);

fn a_revoked_holder_ends_its_command_and_the_next_acts_alone(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).with(&["--node", "first"]).holding(&acts.command());
    let _standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    let said = store.tenure(&["lease", "release", "job", "--by", "tester"]).ok();
    assert!(said.stdout.contains("first") && said.stdout.contains("term 1"), "{said:?}");
    assert!(!store.fence_holds("job", term), "refused from the moment of the release");
    assert_eq!(holder.exit(), 1);
    assert!(holder.stderr().contains("an operator revoked it"), "{}", holder.stderr());
    assert_eq!(holder.until("lost")["term"], term);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
    assert_eq!(store.history("job"), ["1 acquired", "1 resigned", "2 acquired"]);
}

fn a_forced_release_frees_the_lease_at_once_and_fences_the_holder(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).with(&["--node", "first"]).holding(&acts.command());
    acts.wait_for_term(term);
    let said = store.tenure(&["lease", "release", "--name", "job", "--force", "--json"]).ok();
    assert!(said.stdout.contains("first"), "{said:?}");
    assert!(!store.fence_holds("job", term));
    // Free at once: there is nothing to wait for.
    let (_next, later) = Run::calm(store).with(&["--wait", "0s"]).holding(&["sleep", "1000"]);
    assert_eq!(later, term + 1);
    assert_eq!(holder.exit(), 1);
    assert!(!is_running(holder.command()));
    assert_eq!(store.history("job"), ["1 acquired", "1 fenced", "2 acquired"]);
}

fn what_nobody_holds_cannot_be_released(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let said = store.tenure(&["lease", "release", "never"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stdout.contains("nobody holds never"), "{said:?}");
    let (mut holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    holder.signal(Signal::SIGTERM);
    holder.exit();
    for options in [&["lease", "release", "job"][..], &["lease", "release", "job", "--force", "--json"]] {
        assert_eq!(store.tenure(options).code, 1);
    }
    assert_eq!(store.history("job"), ["1 acquired", "1 released"], "nothing was changed");
}

fn lists_are_one_array_of_json_or_a_table(store: &Store) {
    store.tenure(&["migrate"]).ok();
    assert_eq!(store.tenure(&["lease", "list", "--json"]).ok().stdout, "[]\n");
    assert_eq!(store.tenure(&["lease", "list"]).ok().stdout, "no leases yet\n");
    let (holder, _) = Run::calm(store).with(&["--node", "n1"]).holding(&["sleep", "1000"]);
    let mut ended = Run::calm(store).lease("outbox").shell("true");
    ended.exit();
    let rows = store.leases();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["name"], "job");
    assert_eq!(rows[0]["state"], "held");
    assert_eq!((&rows[0]["node"], &rows[0]["term"]), (&"n1".into(), &1.into()));
    assert_eq!(rows[0]["pid"], holder.pid().as_raw());
    assert!(rows[0]["expires_in_ms"].as_u64().is_some_and(|left| left > 0 && left <= 12_000));
    for field in ["incarnation", "machine", "backend", "acquired_at", "renewed_at", "expires_at"] {
        assert!(rows[0][field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {}", rows[0]);
    }
    assert!(rows[0]["released_at"].is_null());
    assert_eq!((&rows[1]["state"], &rows[1]["kind"]), (&"released".into(), &"outbox".into()));
    assert!(rows[1]["released_at"].is_string() && rows[1]["expires_in_ms"].is_null());
    let table = store.tenure(&["lease", "list"]).ok().stdout;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("NAME") && lines[0].contains("STATE"), "{table}");
    assert!(lines[1].starts_with("job") && lines[1].contains("held") && lines[1].contains("n1"), "{table}");
    let first = store.tenure(&["lease", "list", "--limit", "1", "--json"]).ok().json();
    assert_eq!(first.as_array().map(Vec::len), Some(1));
}

fn histories_are_newest_first_with_their_causes(store: &Store) {
    store.tenure(&["migrate"]).ok();
    assert_eq!(store.tenure(&["lease", "history", "--json"]).ok().stdout, "[]\n");
    for name in ["a", "b", "a"] {
        assert_eq!(Run::calm(store).lease(name).with(&["--node", "n1"]).shell("true").exit(), 0);
    }
    let all = store.tenure(&["lease", "history", "--json"]).ok().json();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!(
        (&all[0]["name"], &all[0]["term"], &all[0]["cause"]),
        (&"a".into(), &2.into(), &"released".into())
    );
    assert_eq!((&all[5]["term"], &all[5]["cause"]), (&1.into(), &"acquired".into()));
    for field in ["at", "node", "incarnation", "machine"] {
        assert!(all[0][field].is_string(), "{field}: {}", all[0]);
    }
    assert!(all[0]["pid"].is_u64());
    assert_eq!(store.history("b"), ["1 acquired", "1 released"]);
    let limited = store.tenure(&["lease", "history", "--name", "a", "--limit", "1"]).ok().stdout;
    assert_eq!(limited.lines().count(), 2, "{limited}");
    assert!(limited.starts_with("AT") && limited.contains("released") && limited.contains("n1"), "{limited}");
}

fn asked_by_sigterm_the_command_may_tidy_up(store: &Store) {
    let script = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut holder = Run::brisk(store).with(&["--on-lost", "term"]).shell(script);
    wait_until("the trap", || holder.lines() == ["ready"]);
    store.tenure(&["lease", "release", "job"]).ok();
    assert_eq!(holder.exit(), 1, "the lease was lost, however well the command ended");
    assert_eq!(holder.lines(), ["ready", "tidy"]);
    assert_eq!(store.history("job"), ["1 acquired", "1 resigned"]);
}

fn a_command_that_ignores_sigterm_is_killed_all_the_same(store: &Store) {
    let acts = Acts::new(store);
    let script = format!("trap '' TERM; exec {}", acts.command().join(" "));
    let run = Run::brisk(store).with(&["--on-lost", "term"]);
    let (mut holder, term) = run.holding(&["sh", "-c", &script]);
    let _standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    store.tenure(&["lease", "release", "job"]).ok();
    assert_eq!(holder.exit(), 1);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
}
