//! The guard itself may be killed; the command never runs without one.

use nix::sys::signal::Signal;

use crate::harness::{Acts, Run, Store, guard_of, is_running, signal, tests_on, wait_for, wait_until};

tests_on!(sqlite:
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_stopped,
    a_killed_guard_is_replaced_and_the_next_one_sees_tenure_killed,
    a_guard_ends_with_its_command,
    a_stopped_guard_does_not_keep_the_lease,
);
tests_on!(postgres:
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
