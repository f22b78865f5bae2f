//! The benchmark prints what its page says.

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::{Store, children, code, run, signal, tests_on, wait_for, wait_until};

tests_on!(sqlite:
    failover_is_one_object_with_its_figures,
    a_cut_is_left_out_where_there_is_no_connection,
    what_is_measured_is_the_database_that_was_named_and_no_other,
    events_are_measured_against_the_same_rows_by_hand,
    a_cluster_is_one_object_with_its_figures,
    every_page_is_measured_and_answers,
);
tests_on!(postgres:
    failover_is_one_object_with_its_figures,
    events_are_measured_against_the_same_rows_by_hand,
    a_cluster_is_one_object_with_its_figures,
    every_page_is_measured_and_answers,
    a_measurement_that_is_ended_leaves_nothing_behind,
);
tests_on!(mariadb:
    failover_is_one_object_with_its_figures,
    events_are_measured_against_the_same_rows_by_hand,
    a_cluster_is_one_object_with_its_figures,
    every_page_is_measured_and_answers,
    a_measurement_that_is_ended_leaves_nothing_behind,
);
tests_on!(mysql:
    failover_is_one_object_with_its_figures,
    events_are_measured_against_the_same_rows_by_hand,
    a_cluster_is_one_object_with_its_figures,
    every_page_is_measured_and_answers,
    a_measurement_that_is_ended_leaves_nothing_behind,
);

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

fn every_page_is_measured_and_answers(store: &Store) {
    let args = ["bench", "dashboard", "--rows", "2000", "--sources", "300", "--rounds", "1", "--json"];
    let report = store.tenure(&args).ok().json();
    assert_eq!((&report["bench"], &report["wrong"]), (&"dashboard".into(), &0.into()), "{report}");
    assert_eq!(report["settings"]["filled"]["rows"], 2000);
    let answers = report["answers"].as_array().unwrap();
    assert_eq!(report["below"].as_u64().unwrap() + report["above"].as_u64().unwrap(), answers.len() as u64);
    for answer in answers {
        assert!(answer["first_ms"].as_f64() > Some(0.0) && answer["min_ms"].is_f64(), "{answer}");
    }
    let asked = |path: &str| answers.iter().filter(|answer| answer["path"] == path).count();
    assert!(asked("/outbox") > 10 && asked("/") == 1 && asked("/api/v1/stories") > 1, "{report}");
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

fn what_is_measured_is_the_database_that_was_named_and_no_other(store: &Store) {
    let other = store.path("other.db");
    let mut command = store.command(&["bench", "failover", "--rounds", "1", "--kinds", "graceful", "--json"]);
    run(command.env("TENURE_DB", format!("sqlite:{other}"))).ok();
    assert!(!std::path::Path::new(&other).exists(), "contestants listen to no TENURE_DB of ours");
    assert!(store.leases().iter().all(|lease| lease["origin_term"].is_null()), "{:?}", store.leases());
}

fn a_cut_is_left_out_where_there_is_no_connection(store: &Store) {
    let report =
        store.tenure(&["bench", "failover", "--rounds", "1", "--kinds", "cut", "--json"]).ok().json();
    assert!(report["kinds"]["cut"].is_null(), "{report}");
    let notes = report["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with("cut:"))), "{report}");
}

fn a_cluster_is_one_object_with_its_figures(store: &Store) {
    let size = ["--rounds", "1", "--nodes", "3", "--daemons", "30", "--json"];
    let args = [&["bench", "cluster", "--measure", "kill,stop,place,replace"][..], &size].concat();
    let said = store.tenure(&args).ok();
    assert_eq!(said.stdout.lines().count(), 1, "{said:?}");
    let report = said.json();
    assert_eq!(report["bench"], "cluster");
    let spans = [
        ("kill", "kill"),
        ("kill", "kill_leader"),
        ("stop", "stopped_to_started"),
        ("stop", "asked_to_started"),
    ];
    for (measure, figure) in spans {
        assert!(
            report[measure][figure]["p99"].as_f64().is_some_and(|millis| millis > 0.0),
            "{figure}: {report}"
        );
    }
    // Of a killed node with ten daemons or more, each counts.
    assert!(report["kill"]["kill"]["rounds"].as_u64().is_some_and(|count| count >= 10), "{report}");
    assert_eq!(
        (&report["kill"]["overlaps"], &report["stop"]["overlaps"]),
        (&0.into(), &0.into()),
        "{report}"
    );
    assert_eq!(
        (&report["place"]["active"], &report["place"]["most_placements_of_one"]),
        (&30.into(), &1.into())
    );
    assert!(report["place"]["plan_cpu_ms"].as_f64().is_some_and(|millis| millis < 1000.0), "{report}");
    assert_eq!(
        (&report["replace"]["moves"], &report["replace"]["most_moves_of_one"]),
        (&10.into(), &1.into())
    );
    for measure in ["kill", "stop", "place", "replace"] {
        assert!(report[measure]["settings"]["node_ttl_ms"].is_u64(), "{measure}: {report}");
    }
}

fn a_measurement_that_is_ended_leaves_nothing_behind(store: &Store) {
    let named = store.known_url();
    let mut command = crate::harness::tenure();
    command.args(["bench", "cluster", "--measure", "kill", "--nodes", "2", "--db", &named]);
    let mut bench =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let sessions = || store.known_sessions();
    wait_until("two nodes are at work", || sessions() > 8);
    let pid = Pid::from_raw(i32::try_from(bench.id()).unwrap());
    let line = std::fs::read_to_string(format!("/proc/{}/cmdline", children(pid)[0])).unwrap();
    let schema = line.split('\0').find(|part| part.starts_with("tenure_bench_")).unwrap().to_owned();
    let schemas = || {
        let list = "select count(*) from information_schema.schemata where schema_name";
        store.count(&format!("{list} = '{schema}'")).unwrap()
    };
    assert_eq!(schemas(), 1);
    signal(pid, Signal::SIGTERM);
    let status = wait_for("its end", || bench.try_wait().unwrap());
    assert_eq!(code(status), 1);
    assert_eq!(schemas(), 0);
    wait_until("its nodes have gone with it", || sessions() == 0);
}
