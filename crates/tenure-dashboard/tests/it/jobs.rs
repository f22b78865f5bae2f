//! Bulk changes.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{Filter, State};
use tenure_dashboard::mutation::Rule;

use crate::checks::{Found, demand};
use crate::house::{House, Told, Who, bury, die};

const MANY: u64 = 300;

async fn house(rule: Option<Rule>) -> House {
    let house = House::new(rule).await;
    bury(&house.store.inner, MANY.into()).await;
    house
}

async fn start(house: &House, who: Who, rate: u64) -> Told {
    let body = json!({ "filter": { "topic": "bulk" }, "limit": 1_000, "rate": rate }).to_string();
    house.ask("POST", "/api/v1/outbox/retry").bearer(who).json(&body).send().await
}

async fn job(house: &House, id: &Value) -> Value {
    let id = id.as_str().unwrap_or_default();
    house.get(&format!("/api/v1/job?id={id}")).bearer(Who::View).send().await.json()
}

async fn pass(seconds: u64) {
    // passes time: a job works
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

async fn dead(house: &House) -> u64 {
    let filter = Filter { state: Some(State::Dead), topic: Some("bulk".into()), ..Filter::default() };
    house.store.inner.count_dead(&filter, 1_000).await.map(|count| count.number).unwrap_or_default()
}

pub(crate) async fn a_job_keeps_to_its_rate(rule: Option<Rule>) -> Found {
    let house = house(rule).await;
    let told = start(&house, Who::Operate, 20).await;
    demand(told.status == 202, || format!("{} {}", told.status, told.body))?;
    pass(5).await;
    let now = job(&house, &told.json()["id"]).await;
    let changed = now["changed"].as_u64().unwrap_or_default();
    // Those of the first second may go at once.
    demand((90..=120).contains(&changed), || format!("{changed} in five seconds at 20 a second"))?;
    demand(MANY - dead(&house).await == changed, || format!("it says {changed}, and {} are dead", MANY))?;
    pass(30).await;
    let end = job(&house, &told.json()["id"]).await;
    demand(end["state"] == "done" && end["changed"] == MANY, || end.to_string())
}

pub(crate) async fn a_job_that_is_told_to_stop_stops(rule: Option<Rule>) -> Found {
    let house = house(rule).await;
    let id = start(&house, Who::Operate, 20).await.json()["id"].clone();
    pass(2).await;
    let refused = house
        .ask("POST", "/api/v1/jobs/stop")
        .bearer(Who::View)
        .json(&json!({ "id": id }).to_string())
        .send()
        .await;
    demand(refused.status == 403, || format!("one who may only look: {}", refused.status))?;
    let told = house
        .ask("POST", "/api/v1/jobs/stop")
        .bearer(Who::OperatePayloads)
        .json(&json!({ "id": id }).to_string());
    let told = told.send().await;
    demand(told.status == 200, || told.body.clone())?;
    pass(1).await;
    let before = job(&house, &id).await;
    demand(before["state"] == "stopped", || before.to_string())?;
    demand(before["why"].as_str().unwrap_or_default().contains("ada"), || before.to_string())?;
    let lines = house.get("/api/v1/audit?action=job.stop").bearer(Who::View).send().await.json();
    let line = &lines["items"][0];
    demand(
        line["subject"] == id && line["actor"].as_str().is_some_and(|actor| actor.starts_with("ada")),
        || format!("who stopped it is not in the audit table: {lines}"),
    )?;
    pass(10).await;
    let after = job(&house, &id).await;
    demand(after == before && dead(&house).await > MANY / 2, || format!("it went on: {after}"))
}

#[tokio::test(start_paused = true)]
async fn s51_two_jobs_over_the_same_messages_change_each_once() {
    let house = house(None).await;
    let (one, two) = (start(&house, Who::Operate, 50).await, start(&house, Who::OperatePayloads, 50).await);
    pass(20).await;
    let (one, two) = (job(&house, &one.json()["id"]).await, job(&house, &two.json()["id"]).await);
    assert_eq!(one["changed"].as_u64().unwrap() + two["changed"].as_u64().unwrap(), MANY, "{one} {two}");
    assert_eq!((one["state"].as_str(), two["state"].as_str()), (Some("done"), Some("done")));
    let audit = house.audit().await;
    let begun = audit.iter().filter(|line| line.action == "job.retry.begin").count();
    let ended = audit.iter().filter(|line| line.action == "job.retry.end").count();
    assert_eq!((begun, ended), (2, 2), "each begins and ends in the audit");
    let changed =
        audit.iter().filter(|line| !line.action.starts_with("job.") && line.action != "noted").count();
    assert_eq!(changed as u64, MANY, "each message has its line");
}

/// A receiver that is not mended would have them retried until the limit, the first ones again and again.
#[tokio::test(start_paused = true)]
async fn a_job_whose_messages_die_again_stops_and_says_so() {
    let house = house(None).await;
    let id = start(&house, Who::Operate, 20).await.json()["id"].clone();
    pass(1).await;
    die(&house.store.inner).await;
    pass(5).await;
    let end = job(&house, &id).await;
    assert_eq!(end["state"], "stopped", "{end}");
    assert!(end["why"].as_str().unwrap().contains("died again"), "{end}");
    assert!(end["changed"].as_u64().unwrap() < 100, "{end}");
}

#[tokio::test(start_paused = true)]
async fn so_many_jobs_run_at_once_and_no_more() {
    let house = house(None).await;
    for _ in 0..4 {
        assert_eq!(start(&house, Who::Operate, 1).await.status, 202);
    }
    let told = start(&house, Who::Operate, 1).await;
    assert_eq!(told.status, 503, "{}", told.body);
    let list = house.get("/api/v1/jobs").bearer(Who::View).send().await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_job_over_a_store_that_went_away_fails_and_says_so() {
    let house = house(None).await;
    let id = start(&house, Who::Operate, 10).await.json()["id"].clone();
    pass(2).await;
    house.store.go_away(true);
    pass(30).await;
    let end = job(&house, &id).await;
    assert_eq!(end["state"], "failed", "{end}");
    assert!(end["why"].as_str().unwrap().contains("went away"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn s51_two_operators_retry_one_message_from_two_dashboards_and_it_is_changed_once() {
    use tenure_dashboard::{Auth, Hosts};
    let store = crate::house::filled("something").await;
    let hosts = || Hosts::these([crate::house::HOST]).unwrap();
    let house = || {
        let auth = Auth::tokens(crate::house::tokens());
        House::of(std::sync::Arc::clone(&store), auth, hosts(), None, |dashboard| dashboard)
    };
    let (one, two) = (house(), house());
    let body = json!({ "id": crate::house::DEAD_ID }).to_string();
    let (one_told, two_told) = tokio::join!(
        one.ask("POST", "/api/v1/outbox/retry").bearer(Who::Operate).json(&body).send(),
        two.ask("POST", "/api/v1/outbox/retry").bearer(Who::OperatePayloads).json(&body).send(),
    );
    let changed = |told: &Told| told.json()["changed"].as_u64().unwrap();
    assert_eq!(changed(&one_told) + changed(&two_told), 1);
    let lines = one.audit().await.into_iter().filter(|line| line.action != "noted").count();
    assert_eq!(lines, 1, "one change, one line");
}
