//! Bulk changes.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_core::contract::{OutboxAdmin, RunnerStore};
use tenure_core::observe::{LocalBeat, LocalRunners, RunnerKind, RunnerReport};
use tenure_core::outbox::{DeadWalk, Filter, State};
use tenure_dashboard::mutation::Rule;
use tenure_dashboard::{Auth, Hosts};

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
    house
        .store
        .inner
        .count_dead(&DeadWalk::of(filter, 1_000))
        .await
        .map(|count| count.number)
        .unwrap_or_default()
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

/// A receiver that is not mended: the job goes through all of them once, those that die again are behind it, and it says so.
#[tokio::test(start_paused = true)]
async fn a_job_whose_messages_die_again_meets_each_once_and_says_so() {
    let house = house(None).await;
    let id = start(&house, Who::Operate, 20).await.json()["id"].clone();
    for _ in 0..20 {
        pass(1).await;
        die(&house.store.inner).await;
    }
    let end = job(&house, &id).await;
    assert_eq!((&end["state"], &end["changed"]), (&json!("done"), &json!(MANY)), "{end}");
    // One that is dead in the house besides.
    assert_eq!(end["looked"], json!(MANY + 1), "{end}");
    assert!(end["why"].as_str().unwrap().contains("died again"), "{end}");
    let retried = house.audit().await.iter().filter(|line| line.action == "outbox retry").count();
    assert_eq!(retried as u64, MANY, "none was retried twice");
}

/// A rare topic among many dead: the job goes from call to call without changing anything, and comes to its end.
#[tokio::test(start_paused = true)]
async fn a_job_by_a_rare_topic_looks_at_each_dead_message_once() {
    let house = house(None).await;
    let body = json!({ "filter": { "topic": "nobody sends this" }, "limit": 1_000, "rate": 50 }).to_string();
    let told = house.ask("POST", "/api/v1/outbox/retry").bearer(Who::Operate).json(&body).send().await;
    pass(5).await;
    let end = job(&house, &told.json()["id"]).await;
    assert_eq!((&end["state"], &end["changed"]), (&json!("done"), &json!(0)), "{end}");
    assert!(end["looked"].as_u64().unwrap() >= MANY, "{end}");
}

/// One call looks only so far; whoever asks goes on behind it, and comes to what lies behind many others.
#[tokio::test(start_paused = true)]
async fn a_change_says_from_where_to_go_on_and_goes_on_from_there() {
    let house = house(None).await;
    let all = json!({ "filter": { "topic": "bulk" }, "limit": 100 });
    let ask = async |after: &Value, more: Value| {
        let mut body = all.clone();
        body["after"] = after.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        house.ask("POST", "/api/v1/outbox/retry").bearer(Who::Operate).json(&body.to_string()).send().await
    };
    let first = ask(&Value::Null, json!({})).await.json();
    assert_eq!((&first["changed"], &first["or_more"]), (&json!(100), &json!(true)), "{first}");
    // They die again: whoever begins at the beginning meets these once more, and never the others.
    die(&house.store.inner).await;
    let would = ask(&first["next"], json!({ "dry_run": true, "limit": 500 })).await.json();
    assert_eq!(would["would_change"], json!(MANY - 100), "{would}");
    let second = ask(&first["next"], json!({ "limit": 500 })).await.json();
    assert_eq!((&second["changed"], &second["next"]), (&json!(MANY - 100), &Value::Null), "{second}");
    let (first, second) = (first["ids"].as_array().unwrap(), second["ids"].as_array().unwrap());
    assert!(first.iter().all(|id| !second.contains(id)), "none is met twice");
    let job = ask(&json!(7), json!({ "rate": 10 })).await;
    assert_eq!(job.status, 400, "a job begins at the beginning: {}", job.body);
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
async fn a_job_over_a_store_that_stays_away_fails_and_its_end_is_written_when_the_store_is_back() {
    let house = house(None).await;
    let id = start(&house, Who::Operate, 10).await.json()["id"].clone();
    pass(2).await;
    house.store.go_away(true);
    pass(60).await;
    let waits = job(&house, &id).await;
    assert_eq!(waits["state"], "running", "{waits}");
    assert!(waits["why"].as_str().unwrap().contains("asked again"), "{waits}");
    pass(300).await;
    let end = job(&house, &id).await;
    assert_eq!(end["state"], "failed", "{end}");
    assert!(end["why"].as_str().unwrap().contains("went away"), "{end}");
    let ends = async || house.audit().await.iter().filter(|line| line.action == "job.retry.end").count();
    assert_eq!(ends().await, 0);
    house.store.go_away(false);
    pass(20).await;
    assert_eq!(ends().await, 1, "a line without an end looks like a job that runs");
}

#[tokio::test(start_paused = true)]
async fn a_job_survives_a_store_that_stalls_for_a_while() {
    let house = house(None).await;
    let begun = start(&house, Who::Operate, 20).await.json();
    assert_eq!(begun["total"], json!(null), "{begun}");
    pass(2).await;
    house.store.go_away(true);
    pass(40).await;
    house.store.go_away(false);
    pass(40).await;
    let end = job(&house, &begun["id"]).await;
    assert_eq!(
        (&end["state"], &end["changed"], &end["total"]),
        (&json!("done"), &json!(MANY), &json!(MANY)),
        "{end}"
    );
    assert!(!end["why"].as_str().unwrap().contains("asked again"), "{end}");
    assert!(end["why"].as_str().unwrap().contains("Calls without an answer"), "{end}");
    let page =
        house.get(&format!("/job?id={}", begun["id"].as_str().unwrap())).bearer(Who::View).send().await.body;
    assert!(page.contains("of about 300 messages"), "{page}");
}

/// The store has done it, and its answer is lost: nobody can count that, so the job says that its number is not exact.
#[tokio::test(start_paused = true)]
async fn a_job_whose_answers_were_lost_says_that_its_number_is_not_exact() {
    let house = house(None).await;
    let id = start(&house, Who::Operate, 20).await.json()["id"].clone();
    pass(2).await;
    house.store.lose_answers(true);
    pass(4).await;
    house.store.lose_answers(false);
    pass(40).await;
    let end = job(&house, &id).await;
    assert_eq!(end["state"], "done", "{end}");
    assert!(end["changed"].as_u64().unwrap() < MANY && dead(&house).await == 0, "{end}");
    let told = "Each may have changed up to 20 messages, which are not among those that are counted";
    assert!(end["why"].as_str().unwrap().contains(told), "{end}");
    let audit = house.audit().await;
    let line = audit.iter().find(|line| line.action == "job.retry.end").unwrap();
    assert!(line.detail.contains(told), "{line:?}");
    let each = audit.iter().filter(|line| line.action == "outbox retry").count();
    assert_eq!(each as u64, MANY, "the audit table has every one");
}

#[tokio::test(start_paused = true)]
async fn s51_two_operators_retry_one_message_from_two_dashboards_and_it_is_changed_once() {
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
    let mut statuses = [one_told.status, two_told.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one_told.body, two_told.body);
    let lines = one.audit().await.into_iter().filter(|line| line.action != "noted").count();
    assert_eq!(lines, 1, "one change, one line");
}

/// The loops of a process, as the crate `tenure` keeps them.
#[derive(Debug, Default)]
struct Loops(Mutex<Vec<Weak<Loop>>>);

#[derive(Debug)]
struct Loop(Mutex<RunnerReport>);

impl Loop {
    fn change(&self, change: impl FnOnce(&mut RunnerReport)) {
        change(&mut self.0.lock().unwrap());
    }
}

#[derive(Debug)]
struct Kept(Arc<Loop>);

impl LocalBeat for Kept {
    fn cycled(&self) {}
    fn advanced(&self) {}
    fn state(&self, state: &'static str) {
        self.0.change(|report| report.state = state.to_owned());
    }
    fn trouble(&self, trouble: Option<String>) {
        self.0.change(|report| report.trouble = trouble);
    }
    fn count(&self, name: &'static str, by: u64) {
        self.0.change(|report| *report.counters.entry(name.into()).or_default() += by);
    }
}

impl LocalRunners for Loops {
    fn list(&self) -> Vec<RunnerReport> {
        let all = self.0.lock().unwrap();
        all.iter().filter_map(Weak::upgrade).map(|kept| kept.0.lock().unwrap().clone()).collect()
    }
    fn add(&self, kind: RunnerKind, name: String, every: Duration) -> Box<dyn LocalBeat> {
        let report = RunnerReport {
            kind,
            name,
            state: String::new(),
            trouble: None,
            cycled_ago: None,
            advanced_ago: None,
            every,
            counters: Default::default(),
        };
        let kept = Arc::new(Loop(Mutex::new(report)));
        self.0.lock().unwrap().push(Arc::downgrade(&kept));
        Box::new(Kept(kept))
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_is_seen_from_other_nodes_which_say_where_it_is_stopped() {
    let store = crate::house::filled("something").await;
    bury(&store.inner, MANY.into()).await;
    let loops = Arc::new(Loops::default());
    let house = |runners: Option<Arc<Loops>>| {
        let (auth, hosts) =
            (Auth::tokens(crate::house::tokens()), Hosts::these([crate::house::HOST]).unwrap());
        House::of(Arc::clone(&store), auth, hosts, None, |dashboard| match runners {
            Some(runners) => dashboard.runners(runners),
            None => dashboard,
        })
    };
    let (here, there) = (house(None), house(Some(Arc::clone(&loops))));
    let body = json!({ "filter": { "topic": "bulk" }, "limit": 1_000, "rate": 10 }).to_string();
    let told = there.ask("POST", "/api/v1/outbox/retry").bearer(Who::Operate).json(&body).send().await;
    assert_eq!(told.status, 202, "{}", told.body);
    let id = told.json()["id"].as_str().unwrap().to_owned();
    pass(3).await;
    let report = || async { store.inner.report(&crate::house::node("there"), &loops.list()).await.unwrap() };
    report().await;
    pass(5).await;
    let page = async |path: &str| here.get(path).bearer(Who::Operate).send().await.body;
    for path in ["/jobs", "/outbox", "/cluster"] {
        let page = page(path).await;
        assert!(page.contains(&id) && page.contains("there"), "{path}: {page}");
        assert!(page.contains("by otto: retry dead messages to topic bulk"), "{path}: {page}");
    }
    let one = page(&format!("/job?id={id}")).await;
    assert!(
        one.contains("It runs on <b><bdi>there</bdi></b>") && one.contains("stopped where it runs"),
        "{one}"
    );
    assert!(!one.contains("/act/job-stop"), "there is no button for what cannot be done here");
    let stop = async |house: &House| {
        house
            .ask("POST", "/api/v1/jobs/stop")
            .bearer(Who::Operate)
            .json(&json!({ "id": id }).to_string())
            .send()
            .await
    };
    let refused = stop(&here).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("this job runs on node there"), "{}", refused.body);
    let own = there.get("/outbox").bearer(Who::View).send().await.body;
    assert!(own.contains("changed, here") && !own.contains("changed, on"), "{own}");
    assert_eq!(stop(&there).await.status, 200);
    pass(1).await;
    report().await;
    pass(5).await;
    let jobs = page("/jobs").await;
    assert!(!jobs.contains("On other nodes"), "it has ended: {jobs}");
    assert_eq!(stop(&here).await.status, 404);
}

/// By how many seconds the clock of the dashboard is ahead of the messages.
static AHEAD: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(3_600);

fn ahead() -> std::time::SystemTime {
    let ahead = AHEAD.load(std::sync::atomic::Ordering::SeqCst);
    std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + ahead)
}

/// The operator reads the dry run over lunch: `-2h` would stand for other messages then.
#[tokio::test(start_paused = true)]
async fn what_is_confirmed_is_what_the_dry_run_has_shown_also_by_moments_told_as_spans() {
    let house = House::with(None, |dashboard| dashboard.clock(ahead), "something").await;
    bury(&house.store.inner, MANY.into()).await;
    let session = house.log_in(Who::Operate).await;
    let send = async |body: String| {
        let ask = house.ask("POST", "/act/retry-all").header("cookie", &session.cookie).ours();
        ask.form(&format!("csrf={}&{body}", session.csrf)).send().await
    };
    let page = send("topic=bulk&from=-2h&until=-30m&dry_run=yes".into()).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("300 messages"), "{}", page.body);
    assert!(page.body.contains("Looked at were 301 dead messages"), "{}", page.body);
    let field = |name: &str| {
        let mark = format!("name=\"{name}\" value=\"");
        let begin = page.body.find(&mark).unwrap_or_else(|| panic!("no field {name}: {}", page.body));
        page.body[begin + mark.len()..].split('"').next().unwrap().to_owned()
    };
    let (from, until) = (field("from"), field("until"));
    assert_eq!(
        (from.as_str(), until.as_str()),
        ("2023-11-14T21:13:20.000000Z", "2023-11-14T22:43:20.000000Z")
    );
    AHEAD.fetch_add(7_200, std::sync::atomic::Ordering::SeqCst);
    let told = send(format!("topic=bulk&from={from}&until={until}&limit=1000&rate=1000")).await;
    assert_eq!(told.status, 303, "{}", told.body);
    pass(5).await;
    let list = house.get("/api/v1/jobs").bearer(Who::View).send().await.json();
    let (job, words) = (
        &list["items"][0],
        "enqueued from 2023-11-14T21:13:20.000Z enqueued before 2023-11-14T22:43:20.000Z",
    );
    assert_eq!((&job["changed"], &job["state"]), (&json!(MANY), &json!("done")), "{job}");
    assert!(job["what"].as_str().unwrap().contains(words), "{job}");
    assert!(page.body.contains(words), "the page has said the same: {}", page.body);
}
