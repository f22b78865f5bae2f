//! What the command is given, and how its end is told.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::harness::{Run, Store, run, tenure, tests_on};

tests_on!(sqlite:
    the_exit_code_of_the_command_is_returned,
    a_command_that_a_signal_ended_gives_128_and_its_number,
    the_command_knows_its_lease_term_and_node,
    standard_input_reaches_the_command,
    arguments_pass_unchanged_whatever_their_bytes,
    a_command_that_is_not_found_gives_127_and_takes_no_lease,
    a_command_that_cannot_be_executed_gives_126_and_takes_no_lease,
    a_script_whose_interpreter_is_missing_gives_127_and_gives_the_lease_back,
    without_json_tenure_speaks_on_standard_error_only,
    quietly_it_says_nothing,
);
tests_on!(postgres:
    the_exit_code_of_the_command_is_returned,
    the_command_knows_its_lease_term_and_node,
    standard_input_reaches_the_command,
);
tests_on!(pgbouncer:
    the_exit_code_of_the_command_is_returned,
    the_command_knows_its_lease_term_and_node,
);
tests_on!(mariadb:
    the_exit_code_of_the_command_is_returned,
    the_command_knows_its_lease_term_and_node,
    standard_input_reaches_the_command,
);
tests_on!(mysql:
    the_exit_code_of_the_command_is_returned,
    the_command_knows_its_lease_term_and_node,
    standard_input_reaches_the_command,
);

fn the_exit_code_of_the_command_is_returned(store: &Store) {
    for expected in [0, 7, 255] {
        let mut runner = Run::calm(store).shell(&format!("exit {expected}"));
        assert_eq!(runner.exit(), expected);
        let result = runner.until("result");
        assert_eq!((&result["exit_code"], &result["lost"]), (&expected.into(), &false.into()));
    }
    assert_eq!(store.leases()[0]["state"], "released");
    assert_eq!(store.leases()[0]["term"], 3, "each run had a term of its own");
}

fn a_command_that_a_signal_ended_gives_128_and_its_number(store: &Store) {
    for (signal, number) in [("TERM", 15), ("KILL", 9), ("USR1", 10)] {
        let mut runner = Run::calm(store).shell(&format!("kill -{signal} $$"));
        assert_eq!(runner.exit(), 128 + number, "{signal}");
    }
}

fn the_command_knows_its_lease_term_and_node(store: &Store) {
    let script = "printf '%s|%s|%s\\n' \"$TENURE_LEASE\" \"$TENURE_TERM\" \"$TENURE_NODE\"";
    for term in 1..=2 {
        let run = Run::calm(store).lease("it's a \"job\"").with(&["--node", "node α"]);
        let mut runner = run.shell(script);
        assert_eq!(runner.exit(), 0);
        assert_eq!(runner.lines(), [format!("it's a \"job\"|{term}|node α")]);
        let acquired = runner.until("acquired");
        assert_eq!((&acquired["term"], &acquired["node"]), (&term.into(), &"node α".into()));
    }
}

fn standard_input_reaches_the_command(store: &Store) {
    let mut runner = Run::calm(store).stdin(Stdio::piped()).start(&["cat"]);
    let mut input = runner.take_stdin();
    input.write_all(b"first\nsecond\n").unwrap();
    drop(input);
    assert_eq!(runner.exit(), 0);
    assert_eq!(runner.lines(), ["first", "second"]);
}

fn arguments_pass_unchanged_whatever_their_bytes(store: &Store) {
    let odd: [&[u8]; 7] =
        [b"a b", b"", b"--json", b"-- x", b"quote ' \" ;$(id)", b"\xff\xfe not utf-8", b"tab\tline\n"];
    let out = store.path("arguments");
    let script = format!("printf '%s\\0' \"$@\" > '{out}'");
    let mut command = crate::harness::tenure();
    command.args(["run", "--lease", store.url(), "--name", "job", "--", "sh", "-c", &script, "sh"]);
    command.args(odd.map(OsStr::from_bytes));
    let said = run(&mut command);
    assert_eq!(said.code, 0, "{said:?}");
    let expected: Vec<u8> = odd.iter().flat_map(|arg| [*arg, b"\0"].concat()).collect();
    assert_eq!(std::fs::read(out).unwrap(), expected);
}

fn a_command_that_is_not_found_gives_127_and_takes_no_lease(store: &Store) {
    for command in ["no-such-command-anywhere", "./no/such/file"] {
        let mut runner = Run::calm(store).start(&[command]);
        assert_eq!(runner.exit(), 127);
        assert!(
            runner.stderr().contains(command) && runner.stderr().contains("not found"),
            "{}",
            runner.stderr()
        );
        assert!(runner.events("acquired").is_empty());
    }
}

fn a_command_that_cannot_be_executed_gives_126_and_takes_no_lease(store: &Store) {
    let file = store.path("not-executable");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let directory = store.path("");
    for command in [file.as_str(), directory.as_str()] {
        let mut runner = Run::calm(store).start(&[command]);
        assert_eq!(runner.exit(), 126, "{command}");
        assert!(runner.stderr().contains("cannot be executed"), "{}", runner.stderr());
        assert!(runner.events("acquired").is_empty());
    }
}

/// What only the kernel finds out, when the lease is already held.
fn a_script_whose_interpreter_is_missing_gives_127_and_gives_the_lease_back(store: &Store) {
    let file = store.path("script");
    std::fs::write(&file, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let mut runner = Run::calm(store).start(&[&file]);
    assert_eq!(runner.exit(), 127);
    assert_eq!(store.leases()[0]["state"], "released");
}

fn without_json_tenure_speaks_on_standard_error_only(store: &Store) {
    let said = run(&mut plain(store, &[]));
    assert_eq!((said.code, said.stdout.as_str()), (0, "hello\n"));
    assert!(said.stderr.contains("lease job acquired (term 1)"), "{said:?}");
}

fn quietly_it_says_nothing(store: &Store) {
    let said = run(&mut plain(store, &["--quiet"]));
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "hello\n", ""));
}

fn plain(store: &Store, options: &[&str]) -> std::process::Command {
    let mut command = crate::harness::tenure();
    command.args(["run", "--lease", store.url(), "--name", "job"]).args(options);
    command.args(["--", "echo", "hello"]);
    command
}

#[test]
fn leases_in_memory_come_with_a_warning() {
    let said = run(tenure().args(["run", "--quiet", "--lease", "memory:", "--name", "job", "--", "true"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("exclude nobody outside of this process"), "{said:?}");
}

#[test]
fn with_json_a_failure_is_an_object_too() {
    let said = run(tenure().args(["lease", "list", "--json", "--db", "nowhere:"]));
    assert_eq!((said.code, said.json()["exit_code"].as_i64()), (2, Some(2)), "{said:?}");
    let said = run(tenure().args([
        "run",
        "--json",
        "--lease",
        "postgres://u@127.0.0.1:1/d",
        "--name",
        "job",
        "--",
        "true",
    ]));
    assert_eq!((said.code, said.json()["event"].as_str()), (1, Some("result")), "{said:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let migrate = ["migrate", "--print", "--db", "sqlite:any.db"];
    let status = tenure().args(migrate).stdout(full).stderr(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
