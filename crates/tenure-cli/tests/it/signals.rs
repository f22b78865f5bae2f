//! Signals go to the command, and the lease goes back only when the command is gone.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::harness::{Acts, Run, Runner, Store, is_running, tests_on, wait_until};

tests_on!(sqlite:
    a_stopped_command_ends_when_it_is_told_to,
    signals_reach_the_command,
    the_lease_is_given_back_only_when_the_command_is_gone,
    what_the_command_left_in_its_group_is_ended_before_the_lease_is_given_back,
    a_signal_while_waiting_leaves_no_claim_behind,
    usr1_while_waiting_does_not_end_the_wait,
    a_wait_that_ends_leaves_with_1,
    a_signal_is_heard_while_the_server_says_nothing,
    a_signal_is_heard_during_the_first_claim,
    a_signal_that_was_ignored_from_the_start_stays_ignored,
);
tests_on!(postgres:
    signals_reach_the_command,
    the_lease_is_given_back_only_when_the_command_is_gone,
    what_the_command_left_in_its_group_is_ended_before_the_lease_is_given_back,
    a_signal_while_waiting_leaves_no_claim_behind,
    a_wait_that_ends_leaves_with_1,
);
tests_on!(pgbouncer:
    the_lease_is_given_back_only_when_the_command_is_gone,
    a_signal_while_waiting_leaves_no_claim_behind,
    a_wait_that_ends_leaves_with_1,
);
tests_on!(mariadb:
    signals_reach_the_command,
    the_lease_is_given_back_only_when_the_command_is_gone,
    what_the_command_left_in_its_group_is_ended_before_the_lease_is_given_back,
    a_signal_while_waiting_leaves_no_claim_behind,
    a_wait_that_ends_leaves_with_1,
);
tests_on!(mysql:
    signals_reach_the_command,
    the_lease_is_given_back_only_when_the_command_is_gone,
    what_the_command_left_in_its_group_is_ended_before_the_lease_is_given_back,
    a_signal_while_waiting_leaves_no_claim_behind,
    a_wait_that_ends_leaves_with_1,
);

fn signals_reach_the_command(store: &Store) {
    let cases = [
        ("TERM", Signal::SIGTERM),
        ("INT", Signal::SIGINT),
        ("HUP", Signal::SIGHUP),
        ("QUIT", Signal::SIGQUIT),
        ("USR1", Signal::SIGUSR1),
        ("USR2", Signal::SIGUSR2),
    ];
    let runners = cases.map(|(name, signal)| {
        let script =
            format!("trap 'echo got {name}; exit 3' {name}; echo ready; while :; do sleep 0.05; done");
        (Run::calm(store).lease(name).shell(&script), name, signal)
    });
    for (mut runner, name, signal) in runners {
        wait_until("the trap", || runner.lines() == ["ready"]);
        runner.signal(signal);
        assert_eq!(runner.exit(), 3, "{name}");
        assert_eq!(runner.lines(), ["ready".to_owned(), format!("got {name}")]);
    }
}

fn the_lease_is_given_back_only_when_the_command_is_gone(store: &Store) {
    let ledger = store.path("ledger");
    let script = format!(
        "trap \"sleep 1; echo end 1 >> '{ledger}'; exit 0\" TERM; echo begin 1 >> '{ledger}'; while :; do sleep 0.05; done"
    );
    let (mut holder, _) = Run::calm(store).holding(&["sh", "-c", &script]);
    let mut standby =
        Run::calm(store).waiting(&["sh", "-c", &format!("echo begin $TENURE_TERM >> '{ledger}'")]);
    wait_until("the first act", || store.read("ledger") == "begin 1\n");
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.exit(), 0);
    assert_eq!(standby.exit(), 0);
    assert_eq!(store.read("ledger"), "begin 1\nend 1\nbegin 2\n");
}

fn what_the_command_left_in_its_group_is_ended_before_the_lease_is_given_back(store: &Store) {
    let acts = Acts::new(store);
    let script = format!("{} & read line; exit 5", acts.command().join(" "));
    let mut holder = Run::calm(store).stdin(std::process::Stdio::piped()).shell(&script);
    let term = holder.until("acquired")["term"].as_u64().unwrap();
    let _standby = Run::calm(store).waiting(&acts.command());
    acts.wait_for_more(term);
    // The command ends by itself; what it started in the background does not.
    drop(holder.take_stdin());
    assert_eq!(holder.exit(), 5);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
}

fn a_signal_while_waiting_leaves_no_claim_behind(store: &Store) {
    let (mut holder, term) = Run::calm(store).holding(&["sleep", "1000"]);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut waiter = Run::calm(store).waiting(&["true"]);
        waiter.signal(signal);
        assert_eq!(waiter.exit(), 128 + signal as i32);
        assert_eq!(waiter.until("result")["acquired"], false);
    }
    assert!(!holder.has_ended());
    holder.signal(Signal::SIGTERM);
    holder.exit();
    assert_eq!(store.history("job"), [format!("{term} acquired"), format!("{term} released")]);
    assert_eq!(store.leases()[0]["state"], "released");
}

fn usr1_while_waiting_does_not_end_the_wait(store: &Store) {
    let (mut holder, term) = Run::calm(store).holding(&["sleep", "1000"]);
    let mut waiter = Run::calm(store).waiting(&["true"]);
    waiter.signal(Signal::SIGUSR1);
    holder.signal(Signal::SIGTERM);
    holder.exit();
    assert_eq!(waiter.exit(), 0);
    assert_eq!(waiter.until("acquired")["term"], term + 1);
}

fn a_wait_that_ends_leaves_with_1(store: &Store) {
    let (_holder, _) = Run::calm(store).with(&["--node", "the holder"]).holding(&["sleep", "1000"]);
    for wait in ["0s", "1s"] {
        let mut waiter = Run::calm(store).with(&["--wait", wait]).start(&["true"]);
        assert_eq!(waiter.exit(), 1, "--wait {wait}");
        let result = waiter.until("result");
        assert_eq!((&result["acquired"], &result["exit_code"]), (&false.into(), &1.into()));
        assert!(waiter.stderr().contains("lease job"), "{}", waiter.stderr());
    }
}

/// Asked to end, it does so long before any timeout of a store.
fn ends_at_once(mut runner: Runner) {
    let asked = Instant::now();
    runner.signal(Signal::SIGTERM);
    assert_eq!(runner.exit(), 128 + 15, "{}", runner.stderr());
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    assert_eq!(runner.until("result")["acquired"], false);
}

fn a_signal_is_heard_while_the_server_says_nothing(store: &Store) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://user@{}/db?connect_timeout=30", silent.local_addr().unwrap());
    let runner = Run::calm(store).by(&url).start(&["true"]);
    let _connection = silent.accept().unwrap();
    ends_at_once(runner);
}

fn a_signal_is_heard_during_the_first_claim(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let path = store.url().strip_prefix("sqlite:").unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch("begin immediate").unwrap();
    let runner = Run::calm(store).start(&["true"]);
    // passes time: it has opened the file and tries to write
    thread::sleep(Duration::from_millis(700));
    ends_at_once(runner);
    connection.execute_batch("rollback").unwrap();
    assert!(store.leases().iter().all(|row| row["state"] != "held"), "{:?}", store.leases());
}

fn a_signal_that_was_ignored_from_the_start_stays_ignored(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::calm(store).ignoring("HUP").holding(&acts.command());
    holder.signal(Signal::SIGHUP);
    acts.wait_for_more(term);
    acts.wait_for_more(term);
    assert!(!holder.has_ended() && is_running(holder.command()), "as with nohup");
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.exit(), 128 + 15, "the others are forwarded");
}

fn a_stopped_command_ends_when_it_is_told_to(store: &Store) {
    let (mut holder, _) = Run::calm(store).holding(&["sh", "-c", "kill -STOP $$; exit 9"]);
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.exit(), 128 + 15, "{}", holder.stderr());
}
