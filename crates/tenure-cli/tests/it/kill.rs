//! SIGKILL of tenure: its command dies with it, and the next holder acts.

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::{Acts, Run, Runner, Store, is_running, tests_on, wait_for, wait_until};

tests_on!(sqlite: a_killed_tenure_takes_all_that_its_command_started_along, c7_after_a_kill_the_standby_acts_alone_under_a_higher_term, s15_terms_rise_over_kills_and_releases);
tests_on!(postgres: a_killed_tenure_takes_all_that_its_command_started_along, c7_after_a_kill_the_standby_acts_alone_under_a_higher_term, s15_terms_rise_over_kills_and_releases);
tests_on!(pgbouncer: a_killed_tenure_takes_all_that_its_command_started_along, c7_after_a_kill_the_standby_acts_alone_under_a_higher_term);
tests_on!(mariadb:
    a_killed_tenure_takes_all_that_its_command_started_along,
    c7_after_a_kill_the_standby_acts_alone_under_a_higher_term,
    s15_terms_rise_over_kills_and_releases,
);
tests_on!(mysql:
    a_killed_tenure_takes_all_that_its_command_started_along,
    c7_after_a_kill_the_standby_acts_alone_under_a_higher_term,
    s15_terms_rise_over_kills_and_releases,
);

/// Waits until a script has written the process id of what it started in the background.
fn background(store: &Store) -> Pid {
    wait_for("a process in the background", || {
        Some(Pid::from_raw(store.read("background").trim().parse().ok()?))
    })
}

fn with_background(store: &Store) -> (Runner, Pid) {
    let file = store.path("background");
    let runner = Run::brisk(store).shell(&format!("sleep 1000 & echo $! > '{file}'; sleep 1000"));
    runner.until("acquired");
    let grandchild = background(store);
    (runner, grandchild)
}

fn a_killed_tenure_takes_all_that_its_command_started_along(store: &Store) {
    let (mut runner, grandchild) = with_background(store);
    let command = runner.command();
    assert!(is_running(command) && is_running(grandchild));
    runner.signal(Signal::SIGKILL);
    assert_eq!(runner.exit(), 128 + 9);
    wait_until("the end of the command", || !is_running(command));
    wait_until("the end of what it had started", || !is_running(grandchild));
}

fn c7_after_a_kill_the_standby_acts_alone_under_a_higher_term(store: &Store) {
    let acts = Acts::new(store);
    // The acts are done by a child of the command, which only the guard can reach.
    let script = format!("{} & sleep 1000", acts.command().join(" "));
    let (holder, term) = Run::brisk(store).holding(&["sh", "-c", &script]);
    let standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    holder.signal(Signal::SIGKILL);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
    assert_eq!(standby.until("acquired")["term"], term + 1);
    assert!(!store.fence_holds("job", term));
    standby.assert_passes_the_fence(store);
    let history = store.history("job");
    assert!(["1 crashed", "1 expired"].contains(&history[1].as_str()), "{history:?}");
}

fn s15_terms_rise_over_kills_and_releases(store: &Store) {
    let mut last = 0;
    for round in 0..3 {
        let (mut runner, term) = Run::brisk(store).holding(&["sleep", "1000"]);
        assert!(term > last, "term {term} after {last}");
        last = term;
        runner.signal(if round == 1 { Signal::SIGKILL } else { Signal::SIGTERM });
        runner.exit();
    }
    let rows = store.leases();
    assert_eq!(rows.len(), 1, "one row per name");
    assert_eq!(rows[0]["term"], last);
}
