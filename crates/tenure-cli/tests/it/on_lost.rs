//! `--on-lost term`: SIGTERM goes out when trust is about to end, and not before.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::{Link, Proxy, Run, Store, tests_on, wait_until};

tests_on!(sqlite:
    however_short_its_trust_a_healthy_command_is_not_asked_to_end,
    a_short_stall_does_not_end_the_command,
);
tests_on!(postgres:
    however_short_its_trust_a_healthy_command_is_not_asked_to_end,
    a_short_stall_does_not_end_the_command,
    a_command_that_is_asked_to_end_has_lost_its_lease,
    with_restart_a_command_that_was_asked_to_end_runs_again,
);
tests_on!(pgbouncer: a_command_that_is_asked_to_end_has_lost_its_lease);
tests_on!(mariadb:
    however_short_its_trust_a_healthy_command_is_not_asked_to_end,
    a_short_stall_does_not_end_the_command,
    a_command_that_is_asked_to_end_has_lost_its_lease,
    with_restart_a_command_that_was_asked_to_end_runs_again,
);
tests_on!(mysql:
    however_short_its_trust_a_healthy_command_is_not_asked_to_end,
    a_short_stall_does_not_end_the_command,
    a_command_that_is_asked_to_end_has_lost_its_lease,
    with_restart_a_command_that_was_asked_to_end_runs_again,
);

/// A busy machine may well stand still for longer than such a short trust: one success in a few tries is enough, for
/// who ends healthy commands ends each of them.
fn once_in_a_few(mut succeeds: impl FnMut() -> bool) {
    assert!((0..4).any(|_| succeeds()), "the command was ended every time");
}

fn however_short_its_trust_a_healthy_command_is_not_asked_to_end(store: &Store) {
    once_in_a_few(|| {
        let run = Run::plain(store).with(&["--presence-trust", "500ms", "--on-lost", "term"]);
        run.start(&["sleep", "3"]).exit() == 0
    });
}

fn a_short_stall_does_not_end_the_command(store: &Store) {
    once_in_a_few(|| {
        let (mut holder, _) = Run::plain(store).with(&["--on-lost", "term"]).holding(&["sleep", "4"]);
        for _ in 0..5 {
            holder.signal(Signal::SIGSTOP);
            thread::sleep(Duration::from_millis(200)); // passes time: the stall
            holder.signal(Signal::SIGCONT);
            thread::sleep(Duration::from_millis(430)); // passes time: a ping or two
        }
        holder.exit() == 0
    });
}

const TIDY: &str = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.02; done";

fn a_command_that_is_asked_to_end_has_lost_its_lease(store: &Store) {
    let link = Proxy::before(store.url());
    let mut holder = Run::brisk(store).by(&link.url(store.url())).with(&["--on-lost", "term"]).shell(TIDY);
    wait_until("the trap", || holder.lines() == ["ready"]);
    link.set(Link::Silent);
    assert_eq!(holder.exit(), 1, "however well the command ended");
    assert_eq!(holder.lines(), ["ready", "tidy"]);
    assert_eq!(holder.until("result")["lost"], true);
}

fn with_restart_a_command_that_was_asked_to_end_runs_again(store: &Store) {
    let link = Proxy::before(store.url());
    let run = Run::brisk(store).by(&link.url(store.url())).with(&["--on-lost", "term", "--restart"]);
    let mut holder = run.shell(TIDY);
    wait_until("the trap", || holder.lines() == ["ready"]);
    link.set(Link::Silent);
    holder.until("lost");
    link.set(Link::Open);
    wait_until("the trap, again", || holder.lines() == ["ready", "tidy", "ready"]);
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.exit(), 0);
    assert_eq!(holder.until("result")["lost"], false);
}
