//! Signals go to the command, and the lease goes back only when the command is gone.

use nix::sys::signal::Signal;

use crate::harness::{Acts, Run, Store, tests_on, wait_until};

tests_on!(sqlite:
    signals_reach_the_command,
    the_lease_is_given_back_only_when_the_command_is_gone,
    what_the_command_left_in_its_group_is_ended_before_the_lease_is_given_back,
    a_signal_while_waiting_leaves_no_claim_behind,
    usr1_while_waiting_does_not_end_the_wait,
    a_wait_that_ends_leaves_with_1,
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
