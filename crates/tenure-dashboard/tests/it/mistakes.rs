//! What becomes of an operator's mistakes: they are refused, said in words, and change nothing.

use serde_json::{Value, json};
use tenure_core::contract::{CheckpointStore, OutboxAdmin};
use tenure_core::event::Position;
use tenure_core::outbox::State;
use tenure_core::subscription::SubscriptionName;

use crate::house::{DEAD_ID, House, Told, Who, bury};

async fn post(house: &House, path: &str, body: Value) -> Told {
    house.ask("POST", path).bearer(Who::Operate).json(&body.to_string()).send().await
}

#[tokio::test(start_paused = true)]
async fn a_rewind_goes_to_a_place_of_the_log_and_makes_no_subscription() {
    let house = House::new(None).await;
    let rewind = async |name: &str, position: i64| {
        let body = json!({ "subscription": name, "position": position, "sure": name });
        post(&house, "/api/v1/subscriptions/rewind", body).await
    };
    let before = house.state().await;
    let beyond = rewind("sub-something", 99_999_999).await;
    assert_eq!((beyond.status, &beyond.json()["what"]), (400, &json!("invalid")), "{}", beyond.body);
    assert!(beyond.body.contains("the end of the log, which is "), "{}", beyond.body);
    let unknown = rewind("nope", 0).await;
    assert_eq!((unknown.status, &unknown.json()["what"]), (404, &json!("not_found")), "{}", unknown.body);
    let page = house.get("/subscription?name=nope").bearer(Who::View).send().await;
    assert_eq!(page.status, 404, "{}", page.body);
    assert_eq!(house.state().await, before, "nothing was changed");
    assert_eq!(house.get("/subscription?name=sub-something").bearer(Who::View).send().await.status, 200);
    assert_eq!(rewind("sub-something", 0).await.status, 200);
    let name = SubscriptionName::new("sub-something").unwrap();
    assert_eq!(house.store.inner.checkpoint(&name).await.unwrap().position, Position::START);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_says_that_there_are_more_than_its_limit() {
    let house = House::new(None).await;
    bury(&house.store.inner, 600).await;
    let dry = async |limit: Option<u32>| {
        let body = json!({ "topic": "bulk", "dry_run": true, "limit": limit });
        let told = post(&house, "/api/v1/outbox/discard", body).await.json();
        (told["would_change"].as_u64().unwrap(), told["or_more"].as_bool().unwrap())
    };
    assert_eq!(dry(None).await, (500, true));
    assert_eq!(dry(Some(599)).await, (599, true));
    assert_eq!(dry(Some(600)).await, (600, false));
    assert_eq!(dry(Some(1_000)).await, (600, false));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_not_found_and_what_is_otherwise_is_a_conflict() {
    let house = House::new(None).await;
    let told = async |path: &str, body: Value| {
        let told = post(&house, path, body).await;
        (told.status, told.json()["what"].as_str().unwrap_or_default().to_owned(), told.body)
    };
    let missing = |(status, what, body): (_, String, String)| {
        assert_eq!((status, what.as_str()), (404, "not_found"), "{body}")
    };
    let conflicts = |(status, what, body): (_, String, String)| {
        assert_eq!((status, what.as_str()), (409, "conflict"), "{body}")
    };
    let discard = "/api/v1/outbox/discard";
    missing(told(discard, json!({ "id": "nope" })).await);
    missing(told(discard, json!({ "id": "nope", "dry_run": true })).await);
    missing(told(discard, json!({ "id": "00000000-0000-0000-0000-00000000ffff" })).await);
    conflicts(told(discard, json!({ "id": DEAD_ID, "topic": "another" })).await);
    assert_eq!(told(discard, json!({ "id": DEAD_ID })).await.0, 200);
    let again = told(discard, json!({ "id": DEAD_ID })).await;
    assert!(again.2.contains("discarded, not dead"), "{}", again.2);
    conflicts(again);
    missing(told("/api/v1/daemons/steer", json!({ "name": "nope", "action": "pause" })).await);
    missing(told("/api/v1/leases/release", json!({ "name": "nope" })).await);
}

#[tokio::test(start_paused = true)]
async fn a_discard_of_one_message_asks_first_without_scripts_too() {
    let house = House::new(None).await;
    let session = house.log_in(Who::Operate).await;
    let send = async |fields: &str| {
        let ask = house.ask("POST", "/act/discard").header("cookie", &session.cookie).ours();
        ask.form(&format!("csrf={}&{fields}", session.csrf)).send().await
    };
    let state = async || house.store.inner.show(DEAD_ID, 0).await.unwrap().unwrap().summary.state;
    let page = send(&format!("id={DEAD_ID}")).await;
    assert_eq!((page.status, state().await), (200, State::Dead), "{}", page.body);
    assert!(page.body.contains("Discard this message?") && page.body.contains("name=\"sure\" value=\"yes\""));
    assert_eq!(send("id=nope").await.status, 404);
    assert_eq!(send(&format!("id={DEAD_ID}&sure=yes")).await.status, 303);
    assert_eq!(state().await, State::Discarded);
    let again = send(&format!("id={DEAD_ID}")).await;
    assert!(again.body.contains("Only a dead message"), "{}", again.body);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_cannot_be_read_is_told_beside_the_form_which_stays_filled() {
    let house = House::new(None).await;
    let page = async |query: &str| house.get(&format!("/outbox?{query}")).bearer(Who::View).send().await;
    let wrong = page("from=yesterday&topic=orders&state=dead").await;
    assert_eq!(wrong.status, 400);
    for kept in [
        "value=\"yesterday\"",
        "value=\"orders\"",
        "name=\"state\" value=\"dead\"",
        "`from` is a moment such as",
    ] {
        assert!(wrong.body.contains(kept), "{kept}: {}", wrong.body);
    }
    for good in
        ["2023-11-16", "2023-11-16+08:10", "2023-11-16T08:10:00", "2023-11-16T08:10:00%2B01:00", "-15m"]
    {
        assert_eq!(page(&format!("from={good}")).await.status, 200, "{good}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_is_told_that_nobody_acts_here_and_not_that_his_token_is_wrong() {
    let house = House::with(None, |dashboard| dashboard.only_looking(), "something").await;
    let told = post(&house, "/api/v1/outbox/retry", json!({ "id": DEAD_ID })).await;
    assert_eq!(told.status, 403);
    assert!(told.body.contains("--no-actions") && !told.body.contains("does not have"), "{}", told.body);
}

#[tokio::test(start_paused = true)]
async fn a_parameter_that_is_not_known_is_refused_also_where_one_only_looks() {
    let house = House::new(None).await;
    for path in ["/api/v1/audit?bogus=1", "/api/v1/outbox/messages?tpoic=orders", "/api/v1/status?x="] {
        let told = house.get(path).bearer(Who::View).send().await;
        assert_eq!((told.status, &told.json()["what"]), (400, &json!("invalid")), "{path}: {}", told.body);
    }
    let before = house.state().await;
    let told = post(&house, "/api/v1/outbox/discard?dry_run=true", json!({ "all": true })).await;
    assert_eq!(told.status, 400, "{}", told.body);
    let nothing = post(&house, "/api/v1/outbox/discard", json!({})).await;
    assert!(nothing.status == 400 && nothing.body.contains("`topic`"), "{}", nothing.body);
    assert_eq!(house.state().await, before);
}

/// A program with a variable that is not set must not change more than it names.
#[tokio::test(start_paused = true)]
async fn what_says_nothing_is_no_filter() {
    let house = House::new(None).await;
    let before = house.state().await;
    for path in ["/api/v1/outbox/retry", "/api/v1/outbox/discard"] {
        for (body, field) in [
            (json!({ "id": "", "topic": "bulk" }), "id"),
            (json!({ "all": true, "dry_run": null }), "dry_run"),
            (json!({ "all": true, "dry_run": "" }), "dry_run"),
            (json!({ "all": "yes" }), "all"),
            (json!({ "filter": { "type": "" }, "all": true }), "type"),
            (json!({ "all": true, "limit": "" }), "limit"),
        ] {
            let told = post(&house, path, body.clone()).await;
            assert_eq!(told.status, 400, "{path} {body}: {}", told.body);
            assert!(told.body.contains(&format!("`{field}`")), "{path} {body}: {}", told.body);
        }
    }
    assert_eq!(house.state().await, before, "nothing was changed");
}
