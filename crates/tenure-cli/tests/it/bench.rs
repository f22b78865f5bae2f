//! The benchmark prints what its page says.

use crate::harness::{Store, tests_on};

tests_on!(sqlite:
    failover_is_one_object_with_its_figures,
    a_cut_is_left_out_where_there_is_no_connection,
    events_are_measured_against_the_same_rows_by_hand,
);
tests_on!(postgres: failover_is_one_object_with_its_figures, events_are_measured_against_the_same_rows_by_hand);

fn events_are_measured_against_the_same_rows_by_hand(store: &Store) {
    let positive = |report: &serde_json::Value, figures: &[&str]| {
        for figure in figures {
            assert!(report[*figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {report}");
        }
    };
    let append =
        ["bench", "append", "--seconds", "1", "--rounds", "1", "--writers", "2", "--kept", "500", "--json"];
    let report = store.tenure(&append).ok().json();
    assert_eq!((&report["bench"], &report["kept"]), (&"append".into(), &500.into()));
    positive(&report, &["rate", "ceiling", "ratio"]);
    let report = store.tenure(&["bench", "load", "--events", "300", "--rounds", "2", "--json"]).ok().json();
    positive(&report, &["large_ms", "small_ms", "ratio"]);
    let report =
        store.tenure(&["bench", "subscribe", "--rate", "100", "--seconds", "1", "--json"]).ok().json();
    positive(&report, &["p99_ms", "max_ms"]);
    assert_eq!(report["events"], 100);
}

fn failover_is_one_object_with_its_figures(store: &Store) {
    let args = ["bench", "failover", "--rounds", "1", "--kinds", "kill,graceful", "--json"];
    let said = store.tenure(&args).ok();
    assert_eq!(said.stdout.lines().count(), 1, "{said:?}");
    let report = said.json();
    assert_eq!((&report["bench"], &report["overlaps"]), (&"failover".into(), &0.into()));
    assert_eq!(report["handovers"], 2);
    assert_eq!(
        (&report["settings"]["ttl_ms"], &report["settings"]["presence"]),
        (&6000.into(), &true.into())
    );
    assert_eq!(report["kinds"].as_object().map(serde_json::Map::len), Some(2));
    for kind in ["sigkill", "graceful"] {
        let figures = &report["kinds"][kind];
        assert_eq!(figures["rounds"], 1, "{report}");
        for figure in ["p50", "p99", "max"] {
            assert!(figures[figure].as_f64().is_some_and(|millis| millis > 0.0), "{kind} {figure}: {report}");
        }
    }
    assert!(report["store"].is_string() && report["notes"].is_array(), "{report}");
}

fn a_cut_is_left_out_where_there_is_no_connection(store: &Store) {
    let report =
        store.tenure(&["bench", "failover", "--rounds", "1", "--kinds", "cut", "--json"]).ok().json();
    assert!(report["kinds"]["cut"].is_null(), "{report}");
    let notes = report["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with("cut:"))), "{report}");
}
