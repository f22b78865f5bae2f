//! Live views.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use tenure_dashboard::{Auth, Hosts, Limits, Tokens};
use tower::ServiceExt;

use crate::house::{HOST, House, SECRET, Who, filled, in_2027, sha256};

/// Opens a live view; none where it is refused.
async fn open(house: &House, token: &str) -> Result<BodyDataStream, u16> {
    let request = Request::get("/_tenure/live?parts=overview").header("host", HOST);
    let request = request.header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap();
    let response = house.router.clone().oneshot(request).await.unwrap();
    if response.status() != 200 {
        return Err(response.status().as_u16());
    }
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    Ok(response.into_body().into_data_stream())
}

/// What came within a span; and whether the view has ended.
async fn hear(view: &mut BodyDataStream, seconds: u64) -> (String, bool) {
    let mut heard = String::new();
    let end = tokio::time::Instant::now() + Duration::from_secs(seconds);
    loop {
        match tokio::time::timeout_at(end, view.next()).await {
            Err(_) => return (heard, false),
            Ok(None) => return (heard, true),
            Ok(Some(part)) => heard.push_str(&String::from_utf8_lossy(&part.unwrap())),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn many_viewers_cost_the_store_no_more_than_one() {
    let house = House::new(None).await;
    let mut costs = Vec::new();
    let mut views = Vec::new();
    for viewers in [1, 20] {
        while views.len() < viewers {
            views.push(open(&house, Who::View.token().unwrap()).await.unwrap());
        }
        hear(&mut views[0], 10).await;
        let before = house.store.begun();
        let heard = futures_util::future::join_all(views.iter_mut().map(|view| hear(view, 60))).await;
        for (text, ended) in heard {
            assert!(text.contains("event: snapshot") && !ended, "{text}");
            assert!(!text.contains(SECRET));
        }
        costs.push(house.store.begun() - before);
    }
    assert!(costs[1] <= costs[0] + costs[0] / 10, "one viewer {}, twenty {}", costs[0], costs[1]);
    drop(views);
    // passes time: nobody looks any longer
    tokio::time::sleep(Duration::from_secs(120)).await;
    let before = house.store.begun();
    // passes time: nobody looks any longer
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(house.store.begun(), before, "a dashboard that nobody looks at asks nothing");
}

#[tokio::test(start_paused = true)]
async fn so_many_viewers_and_no_more() {
    let limits = Limits { viewers: 3, ..Limits::default() };
    let house = House::with(None, |dashboard| dashboard.limits(limits).unwrap(), "something").await;
    let token = Who::View.token().unwrap();
    let mut views = Vec::new();
    for _ in 0..3 {
        views.push(open(&house, token).await.unwrap());
    }
    assert_eq!(open(&house, token).await.err(), Some(503));
    views.pop();
    assert!(open(&house, token).await.is_ok(), "a place that was left is free");
}

#[tokio::test(start_paused = true)]
async fn one_operator_does_not_take_all_views() {
    let limits = Limits { viewers: 5, viewers_each: 2, ..Limits::default() };
    let house = House::with(None, |dashboard| dashboard.limits(limits).unwrap(), "something").await;
    let (vera, otto) = (Who::View.token().unwrap(), Who::Operate.token().unwrap());
    let mut views = vec![open(&house, vera).await.unwrap(), open(&house, vera).await.unwrap()];
    assert_eq!(open(&house, vera).await.err(), Some(503), "two are hers");
    views.push(open(&house, otto).await.unwrap());
    drop(views.remove(0));
    assert!(open(&house, vera).await.is_ok(), "a place that was left is free");
}

#[tokio::test(start_paused = true)]
async fn a_view_ends_with_the_token_of_its_viewer() {
    static LATER: AtomicU64 = AtomicU64::new(0);
    fn clock() -> SystemTime {
        in_2027() + Duration::from_secs(LATER.load(Ordering::SeqCst))
    }
    let token = "a token that lasts for a minute";
    let line = format!("vera view sha256:{} until=2027-01-15T08:01:00Z", sha256(token));
    let auth = Auth::tokens(Tokens::parse(&line).unwrap());
    let hosts = Hosts::these([HOST]).unwrap();
    let house = House::of(filled("something").await, auth, hosts, None, |dashboard| dashboard.clock(clock));
    let mut view = open(&house, token).await.unwrap();
    assert!(!hear(&mut view, 10).await.1);
    LATER.store(61, Ordering::SeqCst);
    assert!(hear(&mut view, 20).await.1, "the token has ended");
    assert_eq!(open(&house, token).await.err(), Some(401));
}

#[tokio::test(start_paused = true)]
async fn a_view_says_when_the_store_falls_silent_and_when_it_is_back() {
    let house = House::new(None).await;
    let mut view = open(&house, Who::View.token().unwrap()).await.unwrap();
    assert!(hear(&mut view, 10).await.0.contains("event: snapshot"));
    house.store.hang(true);
    let (heard, ended) = hear(&mut view, 40).await;
    assert!(!ended && heard.contains("The database has not answered for a while"), "{heard}");
    house.store.hang(false);
    let (heard, ended) = hear(&mut view, 40).await;
    let last = heard.rsplit("event: snapshot").next().unwrap();
    assert!(!ended && !last.contains("has not answered"), "{last}");
}

/// How many points the drawings of the outbox hold.
async fn points(house: &House) -> usize {
    let page = house.get("/outbox").bearer(Who::View).send().await;
    assert_eq!(page.status, 200, "{}", page.body);
    let charts = page.body.split("<path class=\"line-1\" d=\"").skip(1);
    charts.map(|path| path.split('"').next().unwrap().matches(['M', 'L']).count()).max().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn what_was_drawn_outlives_a_pause_in_which_nobody_looks_and_one_of_the_store() {
    let house = House::new(None).await;
    let token = Who::View.token().unwrap();
    let mut view = open(&house, token).await.unwrap();
    hear(&mut view, 120).await;
    drop(view);
    let before = points(&house).await;
    assert!(before >= 50, "two minutes by two seconds: {before}");
    // passes time: nobody looks any longer
    tokio::time::sleep(Duration::from_secs(240)).await;
    let after = points(&house).await;
    assert!(after >= before, "{before} points before a pause, {after} after it");
    house.store.hang(true);
    // passes time: the store gives no answer
    tokio::time::sleep(Duration::from_secs(60)).await;
    house.store.hang(false);
    let mut view = open(&house, token).await.unwrap();
    hear(&mut view, 30).await;
    let end = points(&house).await;
    assert!(end > after, "{after} points before the store was silent, {end} after it");
}
