//! A store that hangs, and one that is away.

use std::time::Duration;

use tenure_dashboard::mutation::Rule;
use tenure_dashboard::routes;

use crate::checks::{Found, demand};
use crate::house::{House, Who};
use crate::samples;

/// Asks so often at once, while nothing is answered.
async fn crowd(house: &House, many: usize) -> Vec<u16> {
    let asks = (0..many).map(|_| house.get("/api/v1/outbox/messages").bearer(Who::View).send());
    futures_util::future::join_all(asks).await.into_iter().map(|told| told.status).collect()
}

pub(crate) async fn a_hanging_store_holds_a_few_questions_and_no_more(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    house.store.hang(true);
    let before = tokio::time::Instant::now();
    let told = crowd(&house, 30).await;
    demand(told.iter().all(|status| *status == 503), || format!("{told:?}"))?;
    demand(before.elapsed() <= Duration::from_secs(3), || format!("it took {:?}", before.elapsed()))?;
    demand(house.store.under_way() <= 8, || format!("{} questions are under way", house.store.under_way()))?;
    let before = tokio::time::Instant::now();
    let told = house.get("/api/v1/outbox/messages").bearer(Who::View).send().await;
    demand(told.status == 503 && told.json()["what"] == "slow", || told.body.clone())?;
    demand(before.elapsed() <= Duration::from_millis(200), || "the ninth question waits".to_owned())?;
    demand(told.header("retry-after") == "2", || "no word of when to come again".to_owned())?;
    house.store.hang(false);
    // passes time: what hung ends
    tokio::time::sleep(Duration::from_millis(10)).await;
    demand(house.store.under_way() == 0, || "a question is left".to_owned())?;
    let told = crowd(&house, 20).await;
    demand(told.iter().all(|status| *status == 200), || format!("after it recovered: {told:?}"))
}

pub(crate) async fn no_question_is_dropped(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    house.store.hang(true);
    crowd(&house, 8).await;
    // Someone who goes away while he waits.
    let gone = house.get("/api/v1/outbox/stats").bearer(Who::View).send();
    let _ = tokio::time::timeout(Duration::from_millis(50), gone).await;
    house.store.hang(false);
    // passes time: what hung ends
    tokio::time::sleep(Duration::from_millis(10)).await;
    demand(house.store.dropped() == 0, || {
        format!("{} questions were dropped half-way", house.store.dropped())
    })?;
    demand(house.store.begun() >= 8, || "nothing was asked".to_owned())
}

#[tokio::test(start_paused = true)]
async fn every_look_at_a_store_that_is_away_or_hangs_answers_in_time_and_says_so() {
    let house = House::new(None).await;
    for away in [true, false] {
        house.store.go_away(away);
        house.store.hang(!away);
        for route in routes()
            .filter(|route| route.method == "GET" && route.path != "/live" && !route.path.contains('*'))
        {
            let path = format!("{}{}", route.path, samples::query(route.path, "something"));
            let before = tokio::time::Instant::now();
            let told = house.get(&path).bearer(Who::ViewPayloads).send().await;
            assert!(before.elapsed() <= Duration::from_secs(3), "{path} took {:?}", before.elapsed());
            assert_ne!(told.status, 500, "{path}: {}", told.body);
            if told.status == 503 && route.is_api {
                let what = told.json()["what"].clone();
                assert_eq!(what, if away { "away" } else { "slow" }, "{path}: {}", told.body);
            }
            // What hangs is let go after each, so that the next one is not only told of the crowd.
            house.store.hang(false);
            // passes time: what hung ends
            tokio::time::sleep(Duration::from_millis(10)).await;
            house.store.hang(!away);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_page_waits_for_numbers_that_are_not_asked_for_yet() {
    let house = House::new(None).await;
    house.store.hang(true);
    let free = async {
        // passes time: the store takes a second for the first numbers, so the next are asked for ten seconds later
        tokio::time::sleep(Duration::from_secs(1)).await;
        house.store.hang(false);
    };
    let (told, ()) = tokio::join!(house.get("/").bearer(Who::View).send(), free);
    assert_eq!(told.status, 200, "{}", told.body);
    // passes time: the numbers are eight seconds old
    tokio::time::sleep(Duration::from_secs(8)).await;
    for path in ["/", "/cluster", "/outbox"] {
        let before = tokio::time::Instant::now();
        let told = house.get(path).bearer(Who::View).send().await;
        assert_eq!(told.status, 200, "{}", told.body);
        assert!(before.elapsed() < Duration::from_millis(100), "{path} took {:?}", before.elapsed());
    }
}
