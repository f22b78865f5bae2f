//! A supervisor that cannot move, and readers that do not read.

use std::io::{Read, pipe};
use std::os::fd::AsRawFd;
use std::thread;

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};

use crate::harness::{Acts, Run, Store, fill, full_pipe, is_running, tests_on, wait_until};

tests_on!(sqlite:
    a_command_runs_under_its_lease_though_nobody_reads_what_tenure_says,
    the_result_is_told_to_a_reader_that_comes_late,
    s18_a_supervisor_that_stands_still_gives_the_lease_up_though_its_heart_beats,
    with_restart_a_lease_lost_before_the_command_starts_is_waited_for_again,
    without_restart_a_lease_lost_before_the_command_starts_is_the_end,
);
tests_on!(postgres:
    a_command_runs_under_its_lease_though_nobody_reads_what_tenure_says,
    s18_a_supervisor_that_stands_still_gives_the_lease_up_though_its_heart_beats,
    with_restart_a_lease_lost_before_the_command_starts_is_waited_for_again,
);
tests_on!(mariadb:
    a_command_runs_under_its_lease_though_nobody_reads_what_tenure_says,
    s18_a_supervisor_that_stands_still_gives_the_lease_up_though_its_heart_beats,
    with_restart_a_lease_lost_before_the_command_starts_is_waited_for_again,
);
tests_on!(mysql:
    a_command_runs_under_its_lease_though_nobody_reads_what_tenure_says,
    s18_a_supervisor_that_stands_still_gives_the_lease_up_though_its_heart_beats,
    with_restart_a_lease_lost_before_the_command_starts_is_waited_for_again,
);

fn a_command_runs_under_its_lease_though_nobody_reads_what_tenure_says(store: &Store) {
    let acts = Acts::new(store);
    let ((_out, stdout), (_err, stderr)) = (full_pipe(), full_pipe());
    let run = Run::brisk(store).stdout(stdout.into()).stderr(stderr.into());
    // The heartbeat has much to say as well.
    let mut holder = run.env("TENURE_LOG", "trace").start(&acts.command());
    acts.wait_for_term(1);
    let _standby = Run::brisk(store).waiting(&acts.command());
    let before = acts.terms()[&1].last;
    wait_until("acts beyond the ttl", || acts.terms()[&1].last > before + 5_000_000);
    assert_eq!(acts.terms().len(), 1, "the lease was kept");
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.exit(), 128 + 15);
    acts.wait_for_more(2);
    acts.assert_no_overlap();
    assert_eq!(store.history("job"), ["1 acquired", "1 released", "2 acquired"]);
}

fn the_result_is_told_to_a_reader_that_comes_late(store: &Store) {
    let (mut out, stdout) = full_pipe();
    let done = store.path("done");
    let mut holder = Run::calm(store).stdout(stdout.into()).shell(&format!("echo > '{done}'; exit 5"));
    wait_until("the command", || std::path::Path::new(&done).exists());
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    assert_eq!(holder.exit(), 5);
    let events: Vec<serde_json::Value> =
        said.split_whitespace().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(events[0]["event"], "acquired");
    let result = events.last().unwrap();
    assert_eq!((&result["event"], &result["exit_code"]), (&"result".into(), &5.into()));
}

fn s18_a_supervisor_that_stands_still_gives_the_lease_up_though_its_heart_beats(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).holding(&acts.command());
    let _standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    // A tracer stops one thread alone: the first, which looks after the command.
    ptrace::attach(holder.pid()).expect("a tracer");
    waitpid(holder.pid(), Some(WaitPidFlag::__WALL)).expect("a stopped thread");
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
    assert!(!is_running(holder.command()), "ended by the guard");
    ptrace::detach(holder.pid(), None).expect("a traced thread");
    assert_eq!(holder.exit(), 1);
    assert_eq!(holder.until("result")["lost"], true);
}

fn with_restart_a_lease_lost_before_the_command_starts_is_waited_for_again(store: &Store) {
    let (mut holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    let (mut err, stderr) = pipe().expect("a pipe");
    let run = loses_before_it_starts(store).with(&["--restart"]).stderr(stderr.into());
    let mut next = run.waiting(&["sh", "-c", "exit 6"]);
    fill(&format!("/proc/self/fd/{}", err.as_raw_fd()));
    holder.signal(Signal::SIGTERM);
    holder.exit();
    let lost = next.until("lost");
    assert!(next.events("acquired").is_empty(), "the command never ran under this term");
    // From now on a process can start.
    let reader = thread::spawn(move || err.read_to_end(&mut Vec::new()));
    assert_eq!(next.exit(), 6);
    assert!(next.until("acquired")["term"].as_u64() > lost["term"].as_u64());
    reader.join().unwrap().unwrap();
}

fn without_restart_a_lease_lost_before_the_command_starts_is_the_end(store: &Store) {
    let (mut holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    let (err, stderr) = pipe().expect("a pipe");
    let mut next = loses_before_it_starts(store).stderr(stderr.into()).waiting(&["true"]);
    fill(&format!("/proc/self/fd/{}", err.as_raw_fd()));
    holder.signal(Signal::SIGTERM);
    holder.exit();
    assert_eq!(next.exit(), 1);
    assert_eq!(next.until("result")["lost"], true);
    assert!(next.events("acquired").is_empty());
}

/// The dynamic linker complains to standard error about each process that is started: when that is full, none starts.
fn loses_before_it_starts(store: &Store) -> Run<'_> {
    Run::brisk(store).env("LD_PRELOAD", "/no/such/library.so")
}
