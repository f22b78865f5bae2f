//! What became of messages, and what an operator does about it, as a user of the binary meets them.

use crate::harness::{Answer, Receiver, Relay, Store, tests_on, wait_until};
use crate::outbox::{BRISK, list, refuse, send, stats};

tests_on!(sqlite:
    b17_dead_messages_are_found_understood_retried_and_discarded,
    b17_messages_are_found_and_changed_by_time_and_cause,
    b17_a_change_that_was_cut_goes_on_behind_its_last_row,
    s45_a_halted_source_waits_for_an_operator,
    s43_a_row_whose_id_is_no_uuid_is_shown_and_discarded_by_it,
    an_id_that_stands_in_no_row_is_told_with_1,
);
tests_on!(postgres:
    b17_dead_messages_are_found_understood_retried_and_discarded,
    b17_messages_are_found_and_changed_by_time_and_cause,
    b17_a_change_that_was_cut_goes_on_behind_its_last_row,
    s45_a_halted_source_waits_for_an_operator,
    an_id_that_stands_in_no_row_is_told_with_1,
);
tests_on!(pgbouncer:
    b17_dead_messages_are_found_understood_retried_and_discarded,
);
tests_on!(mariadb:
    b17_dead_messages_are_found_understood_retried_and_discarded,
    b17_messages_are_found_and_changed_by_time_and_cause,
    b17_a_change_that_was_cut_goes_on_behind_its_last_row,
    s45_a_halted_source_waits_for_an_operator,
    an_id_that_stands_in_no_row_is_told_with_1,
);
tests_on!(mysql:
    b17_dead_messages_are_found_understood_retried_and_discarded,
    b17_messages_are_found_and_changed_by_time_and_cause,
    b17_a_change_that_was_cut_goes_on_behind_its_last_row,
    s45_a_halted_source_waits_for_an_operator,
    an_id_that_stands_in_no_row_is_told_with_1,
);

fn b17_dead_messages_are_found_understood_retried_and_discarded(store: &Store) {
    let (rejected, failing) = (
        send(store, &["--topic", "bad", "--type", "A", "1"]),
        send(store, &["--topic", "worse", "--type", "B", "2"]),
    );
    let receiver = Receiver::with(|request, count| match (request.header("ce-subject"), count) {
        ("bad", 1) => refuse("422 Nonsense"),
        ("worse", 1..=3) => refuse("500 Broken"),
        _ => Answer::Apply,
    });
    let mut relay = Relay::start(store, "n1", &receiver.url(), &BRISK);
    wait_until("both are dead", || stats(store)["dead"] == 2);
    let dead = list(store, &["--state", "dead", "--topic", "bad"]);
    assert_eq!(dead.len(), 1);
    assert!(dead[0]["last_error"].as_str().unwrap().contains("422"), "{dead:?}");
    let shown = store.tenure(&["outbox", "show", &failing, "--json"]).ok().json();
    assert_eq!(shown["history"].as_array().unwrap().len(), 3);
    assert!(shown["last_error"].as_str().unwrap().contains("gave up after 3 attempts"), "{shown}");
    assert!(shown["last_error"].as_str().unwrap().contains("why?"), "the receiver's words are told: {shown}");
    // A dry run changes nothing; without a selection nothing is done.
    assert_eq!(
        store.tenure(&["outbox", "retry", "--all", "--dry-run", "--json"]).ok().json()["would_change"],
        2
    );
    assert_eq!(store.tenure(&["outbox", "retry"]).code, 2);
    let retried = store.tenure(&["outbox", "retry", "--id", &rejected, "--by", "ada", "--json"]).ok().json();
    assert_eq!((retried["changed"].as_u64(), retried["ids"][0].as_str()), (Some(1), Some(rejected.as_str())));
    wait_until("the retried one is dispatched", || stats(store)["dispatched"] == 1);
    let again = store.tenure(&["outbox", "retry", "--id", &rejected]);
    assert!(again.code == 1 && again.stderr.contains("is dispatched, not dead"), "{again:?}");
    assert_eq!(store.tenure(&["outbox", "discard", "--topic", "worse", "--json"]).ok().json()["changed"], 1);
    assert_eq!(list(store, &["--state", "discarded"])[0]["id"].as_str(), Some(failing.as_str()));
    assert_eq!(relay.stop(), 0);
    let numbers = stats(store);
    assert_eq!((numbers["dead"].as_u64(), numbers["discarded"].as_u64()), (Some(0), Some(1)));
}

/// Options of both kinds of moments, of a cause, and that what is counted is what is changed.
fn b17_messages_are_found_and_changed_by_time_and_cause(store: &Store) {
    let bad = send(store, &["--topic", "bad", "1"]);
    let worse = send(store, &["--topic", "worse", "2"]);
    let receiver = Receiver::with(|request, _| match request.header("ce-subject") {
        "bad" => refuse("422 Nonsense"),
        _ => refuse("400 Never"),
    });
    let mut relay = Relay::start(store, "n1", &receiver.url(), &BRISK);
    wait_until("both are dead", || stats(store)["dead"] == 2);
    assert_eq!(relay.stop(), 0);
    let found = |options: &[&str]| -> Vec<String> {
        list(store, options).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let both = vec![worse.clone(), bad.clone()];
    assert_eq!(found(&["--from", "-2h"]), both);
    assert_eq!(found(&["--from=-2h", "--until", "2999-01-01T00:00:00Z"]), both);
    assert_eq!(found(&["--from", "2020-01-01T02:00:00.5+02:00", "--state", "dead"]), both);
    assert_eq!(found(&["--until", "-2h"]), Vec::<String>::new());
    assert_eq!(found(&["--from", "2999-01-01T00:00:00Z"]), Vec::<String>::new());
    // What another program or a page tells of a cause.
    let reason = list(store, &["--topic", "bad"])[0]["last_error"].as_str().unwrap().to_owned();
    let cause = tenure::core::outbox::CauseId::of(tenure::core::outbox::Kind::Rejected, &reason).to_string();
    assert_eq!(found(&["--cause", &cause]), std::slice::from_ref(&bad));
    assert_eq!(found(&["--cause", &cause, "--state", "dead", "--from", "-1h"]), std::slice::from_ref(&bad));
    assert_eq!(found(&["--cause", "00000000000000ff"]), Vec::<String>::new());
    let would = |options: &[&str]| {
        let said = store.tenure(&[&["outbox", "retry", "--dry-run", "--json"], options].concat()).ok().json();
        said["would_change"].as_u64().unwrap()
    };
    assert_eq!(
        (would(&["--from", "-1h"]), would(&["--until", "-1h"]), would(&["--cause", &cause])),
        (2, 0, 1)
    );
    assert_eq!(would(&["--from", "-1h", "--limit", "1"]), 1);
    let retried =
        store.tenure(&["outbox", "retry", "--cause", &cause, "--from", "-1h", "--json"]).ok().json();
    assert_eq!((&retried["ids"], &retried["or_more"]), (&serde_json::json!([bad]), &false.into()));
    let discarded = store.tenure(&["outbox", "discard", "--from", "-1h", "--json"]).ok().json();
    assert_eq!(discarded["ids"], serde_json::json!([worse]));
}

/// What the limit has cut says how to go on, and that goes on.
fn b17_a_change_that_was_cut_goes_on_behind_its_last_row(store: &Store) {
    let ids = ["1", "2", "3"].map(|payload| send(store, &["--topic", "bad", payload]));
    let receiver = Receiver::with(|_, _| refuse("422 Nonsense"));
    let mut relay = Relay::start(store, "n1", &receiver.url(), &BRISK);
    wait_until("all are dead", || stats(store)["dead"] == 3);
    assert_eq!(relay.stop(), 0);
    let rows: Vec<_> = list(store, &[]).iter().map(|row| row["row"].to_string()).rev().collect();
    let first = store.tenure(&["outbox", "retry", "--all", "--limit", "1"]).ok();
    assert!(first.stderr.contains(&format!("--after {}", rows[0])), "{first:?}");
    let of = |options: &[&str]| {
        store.tenure(&[&["outbox", "retry", "--all", "--json"], options].concat()).ok().json()
    };
    assert_eq!(of(&["--dry-run", "--after", &rows[1]])["would_change"], 1);
    let second = of(&["--after", &rows[0], "--limit", "1"]);
    assert_eq!((&second["ids"], second["next"].to_string()), (&serde_json::json!([ids[1]]), rows[1].clone()));
    let last = of(&["--after", &rows[1]]);
    assert_eq!((&last["ids"], &last["next"]), (&serde_json::json!([ids[2]]), &serde_json::Value::Null));
}

fn s45_a_halted_source_waits_for_an_operator(store: &Store) {
    for (source, payload) in [("a", "a1"), ("a", "a2"), ("b", "b1")] {
        send(store, &["--topic", "t", "--source", source, payload]);
    }
    let receiver = Receiver::with(|request, _| match request.text().as_str() {
        "a1" => refuse("400 Never"),
        _ => Answer::Apply,
    });
    let mut relay = Relay::start(store, "n1", &receiver.url(), &["--on-dead", "halt"]);
    wait_until("b has arrived and a stands still", || {
        stats(store)["halted_sources"] == 1 && receiver.effects("b") == ["b1"]
    });
    assert!(receiver.effects("a").is_empty());
    store.tenure(&["outbox", "discard", "--source", "a"]).ok();
    wait_until("a goes on", || receiver.effects("a") == ["a2"]);
    assert_eq!(relay.stop(), 0);
}

fn s43_a_row_whose_id_is_no_uuid_is_shown_and_discarded_by_it(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let outbox = store.table("outbox");
    store.execute(&format!(
        "insert into {outbox} (topic, type, payload, message_id) values ('t', 'k', '1', 'Order seven')"
    ));
    let receiver = Receiver::start();
    assert_eq!(Relay::start(store, "n1", &receiver.url(), &["--until-empty"]).exit(), 1);
    let shown = store.tenure(&["outbox", "show", "order SEVEN", "--json"]).ok().json();
    assert_eq!((shown["id"].as_str(), shown["state"].as_str()), (Some("Order seven"), Some("dead")));
    assert!(shown["last_error"].as_str().unwrap().contains("not a UUID"), "{shown}");
    assert_eq!(list(store, &["--id", "Order seven"]).len(), 1);
    let retried = store.tenure(&["outbox", "retry", "--id", "Order seven", "--json"]).ok().json();
    assert_eq!((retried["changed"].as_u64(), retried["ids"][0].as_str()), (Some(1), Some("Order seven")));
    assert_eq!(Relay::start(store, "n1", &receiver.url(), &["--until-empty"]).exit(), 1);
    let discarded = store.tenure(&["outbox", "discard", "--id", "Order seven", "--json"]).ok().json();
    assert_eq!((discarded["changed"].as_u64(), discarded["ids"][0].as_str()), (Some(1), Some("Order seven")));
    assert_eq!(stats(store)["discarded"], 1);
    assert_eq!(receiver.applied(), 0);
}

fn an_id_that_stands_in_no_row_is_told_with_1(store: &Store) {
    store.tenure(&["migrate"]).ok();
    for id in ["seven", "470831a4-832f-5e77-b6eb-b9d970179689", "' or 1=1 --"] {
        for args in [
            &["outbox", "show", id][..],
            &["outbox", "show", "--id", id],
            &["outbox", "retry", "--id", id],
            &["outbox", "discard", "--id", id],
        ] {
            let said = store.tenure(args);
            assert!(
                said.code == 1 && said.stderr.contains(&format!("there is no message {id}")),
                "{args:?}: {said:?}"
            );
        }
        assert!(list(store, &["--id", id]).is_empty());
    }
    assert_eq!(stats(store)["dispatched_is_estimate"], false);
}
