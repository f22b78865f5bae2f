//! Who uses the same name takes turns.

use crate::harness::{Acts, Run, Store, tests_on, wait_until};

tests_on!(sqlite: of_five_contenders_one_runs_at_a_time_and_each_gets_its_turn, s25_a_graceful_stop_hands_over, different_names_do_not_wait_for_each_other);
tests_on!(postgres: of_five_contenders_one_runs_at_a_time_and_each_gets_its_turn, s25_a_graceful_stop_hands_over, different_names_do_not_wait_for_each_other);
tests_on!(pgbouncer: of_five_contenders_one_runs_at_a_time_and_each_gets_its_turn, s21_behind_a_pooler_it_says_that_the_ttl_decides);
tests_on!(mariadb:
    of_five_contenders_one_runs_at_a_time_and_each_gets_its_turn,
    s25_a_graceful_stop_hands_over,
    different_names_do_not_wait_for_each_other,
);
tests_on!(mysql:
    of_five_contenders_one_runs_at_a_time_and_each_gets_its_turn,
    s25_a_graceful_stop_hands_over,
    different_names_do_not_wait_for_each_other,
);

fn of_five_contenders_one_runs_at_a_time_and_each_gets_its_turn(store: &Store) {
    let ledger = store.path("ledger");
    let script =
        format!("echo begin $TENURE_TERM >> '{ledger}'; sleep 0.1; echo end $TENURE_TERM >> '{ledger}'");
    // Where nothing wakes a waiter, a short ttl makes it look soon.
    let mut runners: Vec<_> = (0..5).map(|_| Run::brisk(store).shell(&script)).collect();
    for runner in &mut runners {
        assert_eq!(runner.exit(), 0, "{}", runner.stderr());
    }
    let expected: String = (1..=5).map(|term| format!("begin {term}\nend {term}\n")).collect();
    assert_eq!(store.read("ledger"), expected);
    let expected: Vec<_> =
        (1..=5).flat_map(|term| [format!("{term} acquired"), format!("{term} released")]).collect();
    assert_eq!(store.history("job"), expected);
}

fn s25_a_graceful_stop_hands_over(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::calm(store).holding(&acts.command());
    let standby = Run::calm(store).waiting(&acts.command());
    acts.wait_for_term(term);
    holder.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(holder.exit(), 128 + 15);
    acts.wait_for_term(term + 1);
    acts.assert_no_overlap();
    assert_eq!(standby.until("acquired")["term"], term + 1);
    let rows = store.leases();
    assert_eq!((&rows[0]["state"], &rows[0]["term"]), (&"held".into(), &(term + 1).into()));
    assert_eq!(store.history("job"), ["1 acquired", "1 released", "2 acquired"]);
}

fn different_names_do_not_wait_for_each_other(store: &Store) {
    let holders: Vec<_> = ["one", "two", "three"]
        .map(|name| Run::calm(store).lease(name).shell("sleep 1000"))
        .into_iter()
        .collect();
    for holder in &holders {
        holder.until("acquired");
        assert!(holder.events("waiting").is_empty());
    }
    wait_until("three leases held", || {
        store.leases().iter().filter(|row| row["state"] == "held").count() == 3
    });
}

fn s21_behind_a_pooler_it_says_that_the_ttl_decides(store: &Store) {
    let (holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    let notes = holder.events("note");
    assert!(
        notes.iter().any(|note| note["note"].as_str().is_some_and(|text| text.contains("ttl"))),
        "{notes:?}"
    );
}
