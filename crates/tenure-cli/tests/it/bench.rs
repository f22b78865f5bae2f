//! The benchmark prints what its page says.

use crate::harness::{Store, tests_on};

tests_on!(sqlite: failover_is_one_object_with_its_figures, a_cut_is_left_out_where_there_is_no_connection);
tests_on!(postgres: failover_is_one_object_with_its_figures);

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
