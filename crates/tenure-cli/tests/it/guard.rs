//! The guard itself may be killed; the command never runs without one.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::{
    Acts, Run, Runner, Store, fill, guard_of, is_running, signal, tests_on, wait_for, wait_until,
};

tests_on!(sqlite:
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_stopped,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_killed,
    a_guard_ends_with_its_command,
    a_stopped_guard_does_not_keep_the_lease,
    a_stopped_guard_is_replaced_before_it_is_needed,
    a_guard_heeds_no_signal_that_is_meant_for_everyone,
    a_guard_that_does_not_listen_is_replaced_and_never_ends_the_command,
    a_guard_that_does_not_listen_delays_neither_signals_nor_the_end,
);
tests_on!(postgres:
    a_guard_that_does_not_listen_is_replaced_and_never_ends_the_command,
    a_guard_that_does_not_listen_delays_neither_signals_nor_the_end,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_stopped,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_killed,
);
tests_on!(mariadb:
    a_guard_that_does_not_listen_is_replaced_and_never_ends_the_command,
    a_guard_that_does_not_listen_delays_neither_signals_nor_the_end,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_stopped,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_killed,
);
tests_on!(mysql:
    a_guard_that_does_not_listen_is_replaced_and_never_ends_the_command,
    a_guard_that_does_not_listen_delays_neither_signals_nor_the_end,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_stopped,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_killed,
);

fn a_killed_guard_is_replaced_and_the_next_one_sees_tenure_stopped(store: &Store) {
    replaced_before(store, Signal::SIGSTOP);
}

fn a_killed_guard_is_replaced_and_the_next_one_sees_tenure_killed(store: &Store) {
    replaced_before(store, Signal::SIGKILL);
}

fn replaced_before(store: &Store, event: Signal) {
    let acts = Acts::new(store);
    // Acts of a child of the command: with tenure gone, only a guard ends it.
    let script = format!("{} & sleep 1000", acts.command().join(" "));
    let (mut holder, term) = Run::brisk(store).holding(&["sh", "-c", &script]);
    let _standby = Run::brisk(store).waiting(&acts.command());
    let first = guard_of(holder.pid()).expect("a guard");
    signal(first, Signal::SIGKILL);
    let second = wait_for("another guard", || guard_of(holder.pid()).filter(|guard| *guard != first));
    acts.wait_for_more(term);
    assert!(!holder.has_ended() && is_running(holder.command()), "the command goes on");
    holder.signal(event);
    wait_until("the end of the command", || !is_running(holder.command()));
    wait_until("the end of the guard", || !is_running(second));
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
}

fn a_guard_ends_with_its_command(store: &Store) {
    let (mut holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    let guard = guard_of(holder.pid()).expect("a guard");
    holder.signal(Signal::SIGTERM);
    holder.exit();
    wait_until("the end of the guard", || !is_running(guard));
}

fn a_stopped_guard_does_not_keep_the_lease(store: &Store) {
    let (mut holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    let guard = guard_of(holder.pid()).expect("a guard");
    signal(guard, Signal::SIGSTOP);
    signal(holder.command(), Signal::SIGTERM);
    assert_eq!(holder.exit(), 128 + 15);
    assert_eq!(store.leases()[0]["state"], "released");
    wait_until("the end of the guard", || !is_running(guard));
}

fn a_stopped_guard_is_replaced_before_it_is_needed(store: &Store) {
    let acts = Acts::new(store);
    let script = format!("{} & sleep 1000", acts.command().join(" "));
    let (holder, term) = Run::brisk(store).holding(&["sh", "-c", &script]);
    let _standby = Run::brisk(store).waiting(&acts.command());
    let first = guard_of(holder.pid()).expect("a guard");
    signal(first, Signal::SIGSTOP);
    wait_for("another guard", || guard_of(holder.pid()).filter(|guard| *guard != first));
    acts.wait_for_more(term);
    holder.signal(Signal::SIGKILL);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
}

fn a_guard_heeds_no_signal_that_is_meant_for_everyone(store: &Store) {
    let (holder, _) = Run::calm(store).holding(&["sh", "-c", "sleep 1000 & sleep 1000"]);
    let guard = guard_of(holder.pid()).expect("a guard");
    for which in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGUSR1] {
        signal(guard, which);
    }
    holder.signal(Signal::SIGKILL);
    wait_until("the end of the command", || !is_running(holder.command()));
    wait_until("the end of the guard, after its work", || !is_running(guard));
}

/// Stops the guard, and fills its pipe.
fn deafen(holder: &Runner) -> Pid {
    let guard = guard_of(holder.pid()).expect("a guard");
    signal(guard, Signal::SIGSTOP);
    fill(&format!("/proc/{guard}/fd/0"));
    guard
}

fn a_guard_that_does_not_listen_is_replaced_and_never_ends_the_command(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).holding(&acts.command());
    let _standby = Run::brisk(store).waiting(&acts.command());
    let deaf = deafen(&holder);
    let another = || guard_of(holder.pid()).filter(|guard| *guard != deaf);
    wait_for("another guard", another);
    wait_until("the end of the deaf one", || !is_running(deaf));
    signal(deaf, Signal::SIGCONT);
    acts.wait_for_more(term);
    assert!(!holder.has_ended() && is_running(holder.command()), "the command goes on");
    // And once more, when there is something to do.
    deafen(&holder);
    store.tenure(&["lease", "release", "job"]).ok();
    assert_eq!(holder.exit(), 1);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
    assert_eq!(store.history("job"), ["1 acquired", "1 resigned", "2 acquired"]);
}

fn a_guard_that_does_not_listen_delays_neither_signals_nor_the_end(store: &Store) {
    for (to_tenure, which) in [(true, Signal::SIGTERM), (false, Signal::SIGUSR1)] {
        let (mut holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
        let deaf = deafen(&holder);
        // passes time: there was something to tell the guard
        thread::sleep(Duration::from_millis(600));
        signal(if to_tenure { holder.pid() } else { holder.command() }, which);
        assert_eq!(holder.exit(), 128 + which as i32);
        assert_eq!(store.leases()[0]["state"], "released");
        wait_until("the end of the guard", || !is_running(deaf));
    }
}
