//! What a store costs while nothing happens.

use crate::harness::{Store, tests_on};

tests_on!(sqlite: an_idle_relay_and_an_idle_holder_run_at_most_one_statement_a_second, and_a_node_with_any_number_of_daemons_two);
tests_on!(postgres: and_a_node_with_any_number_of_daemons_two);
tests_on!(mariadb:
    and_a_node_with_any_number_of_daemons_two,
);
tests_on!(mysql:
    and_a_node_with_any_number_of_daemons_two,
);

/// A hiccup of the machine makes a renewal go the long way, and rightly; one measurement without any is enough.
const MEASUREMENTS: usize = 3;

fn an_idle_relay_and_an_idle_holder_run_at_most_one_statement_a_second(store: &Store) {
    let mut reports = Vec::new();
    for _ in 0..MEASUREMENTS {
        let report = store.tenure(&["bench", "idle", "--seconds", "10", "--json"]).ok().json();
        let rate = |who: &str| report[who]["statements_per_s"].as_f64().expect("a rate");
        let rates = [rate("holder"), rate("relay")];
        // Both renew every 2 s: less than that would be a count that misses something.
        assert!(rates.iter().all(|rate| *rate >= 0.35), "{report}");
        assert_eq!(report["relay"]["presence_pings_per_s"], 0.0, "{report}");
        assert_eq!(left_behind(store), Vec::<String>::new());
        if rates.iter().all(|rate| *rate <= 1.0) {
            return;
        }
        reports.push(report);
    }
    panic!("{reports:#?}");
}

fn and_a_node_with_any_number_of_daemons_two(store: &Store) {
    let mut reports = Vec::new();
    for _ in 0..MEASUREMENTS {
        let report =
            store.tenure(&["bench", "idle", "--seconds", "12", "--daemons", "200", "--json"]).ok().json();
        let rate = |who: &str| report[who]["statements_per_s"].as_f64().expect("a rate");
        let rates = [rate("node"), rate("leading_node")];
        // Both renew every 1.5 s, and look now and then.
        assert!(rates.iter().all(|rate| *rate >= 0.9), "{report}");
        assert_eq!(report["daemons_per_node"], 200);
        if rates.iter().all(|rate| *rate <= 2.0) {
            return;
        }
        reports.push(report);
    }
    panic!("{reports:#?}");
}

/// The bench works on files of its own, and removes them.
fn left_behind(store: &Store) -> Vec<String> {
    let directory = std::fs::read_dir(store.path(".")).expect("the directory");
    let names = directory.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("tenure-bench-")).collect()
}
