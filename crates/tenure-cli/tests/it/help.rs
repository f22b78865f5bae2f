//! The help helps.

use crate::harness::{Said, Store, run, tenure, tests_on};

tests_on!(sqlite: the_database_may_be_named_before_or_after_the_subcommand, the_database_may_be_named_by_the_environment, output_that_is_no_terminal_has_no_colour);

fn tell(args: &[&str]) -> Said {
    run(tenure().args(args))
}

#[test]
fn the_help_of_every_command_shows_an_example() {
    for command in [
        "",
        "demo",
        "send",
        "relay",
        "outbox",
        "outbox list",
        "outbox show",
        "outbox retry",
        "outbox discard",
        "outbox stats",
        "status",
        "dashboard",
        "dashboard token",
        "audit",
        "audit list",
        "run",
        "lease",
        "lease list",
        "lease history",
        "lease release",
        "lease resign",
        "daemon",
        "daemon list",
        "daemon pause",
        "daemon resume",
        "daemon move",
        "daemon retire",
        "migrate",
        "bench",
        "bench drain",
        "bench enqueue",
        "bench latency",
        "bench parked",
        "bench dashboard",
        "bench append",
        "bench subscribe",
        "bench load",
        "bench failover",
        "bench cluster",
        "bench idle",
        "completions",
    ] {
        let mut args: Vec<_> = command.split_whitespace().collect();
        args.push("--help");
        let said = tell(&args).ok();
        assert!(said.stdout.contains("Example"), "{command}: {}", said.stdout);
        assert!(said.stdout.contains("tenure "), "{command}: {}", said.stdout);
        assert!(!said.stdout.contains("__"), "{command} shows what is no user's business: {}", said.stdout);
    }
}

#[test]
fn completions_are_there_for_the_common_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let said = tell(&["completions", shell]).ok();
        assert!(said.stdout.contains("tenure") && said.stdout.contains("failover"), "{shell}");
    }
}

#[test]
fn wrong_usage_is_told_on_standard_error_with_2() {
    for args in [
        &["no-such-command"][..],
        &["lease"],
        &["lease", "list", "--no-such-option"],
        &["run", "--name", "job"],
        &["run", "--lease", "memory:", "--name", "job"],
        &["run", "--lease", "memory:", "--", "true"],
        &["run", "--lease", "memory:", "--name", "job", "--ttl", "soon", "--", "true"],
        &["run", "--lease", "memory:", "--name", "job", "--on-lost", "shrug", "--", "true"],
        &["lease", "list", "--limit", "0"],
        &["completions", "no-such-shell"],
    ] {
        let said = tell(args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.stdout.is_empty() && !said.stderr.is_empty(), "{args:?}: {said:?}");
    }
}

#[test]
fn wrong_usage_is_told_to_programs_too() {
    let said = tell(&["lease", "list", "--json", "--db", "postgres://u:hunter2@h/d", "--no-such-option"]);
    assert_eq!(said.code, 2, "{said:?}");
    let told: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(told["exit_code"], 2);
    let error = told["error"].as_str().unwrap();
    assert!(
        error.contains("--no-such-option") && !error.contains("Usage") && !error.contains('\n'),
        "{error}"
    );
    assert!(!said.stderr.is_empty() && !format!("{said:?}").contains("hunter2"), "{said:?}");
    // What stands behind `--` is the child's.
    assert_eq!(tell(&["run", "--no-such-option", "--", "true", "--json"]).stdout, "");
}

#[test]
fn the_version_is_told() {
    assert!(tell(&["--version"]).ok().stdout.starts_with("tenure "));
}

fn the_database_may_be_named_before_or_after_the_subcommand(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let url = store.url();
    for args in [
        ["--db", url, "lease", "list", "--json"],
        ["lease", "--db", url, "list", "--json"],
        ["lease", "list", "--json", "--db", url],
        ["--json", "lease", "list", "--db", url],
    ] {
        assert_eq!(tell(&args).ok().stdout, "[]\n", "{args:?}");
    }
}

fn the_database_may_be_named_by_the_environment(store: &Store) {
    let said = run(tenure().args(["migrate"]).env("TENURE_DB", store.url())).ok();
    assert!(said.stdout.contains("schema migrated"), "{said:?}");
    let mut command = tenure();
    command.env("TENURE_LEASE_URL", store.url()).env("TENURE_LEASE_NAME", "job").env("TENURE_NODE", "n1");
    let said = run(command.args(["run", "--", "sh", "-c", "echo $TENURE_LEASE $TENURE_NODE"])).ok();
    assert_eq!(said.stdout, "job n1\n");
}

fn output_that_is_no_terminal_has_no_colour(store: &Store) {
    let mut holder = crate::harness::Run::calm(store).shell("true");
    holder.exit();
    let said = [
        store.tenure(&["lease", "list"]),
        store.tenure(&["lease", "history"]),
        store.tenure(&["lease", "release", "job"]),
        store.tenure(&["migrate"]),
        tell(&["--help"]),
        tell(&["run", "--help"]),
        tell(&["no-such-command"]),
        tell(&["lease", "list", "--db", "sqlite:/no/such/place/app.db"]),
    ];
    for said in said {
        assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'), "{said:?}");
    }
}
