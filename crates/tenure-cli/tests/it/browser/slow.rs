//! A database that answers slowly or not at all: the page says so, stays up, and goes on when the database is back.

use std::time::{Duration, Instant};

use super::chrome::Chrome;
use super::stage::{Dashboard, send};
use crate::harness::{Link, Proxy, Store, tests_on};

tests_on!(postgres: a_database_that_falls_silent_is_told_and_the_page_goes_on_when_it_is_back);

/// How many points the drawings of the page hold.
fn points(chrome: &Chrome) -> u64 {
    let script = "return Math.max(0, ...Array.from(document.querySelectorAll('main svg path.line-1')) \
                  .map((path) => (path.getAttribute('d').match(/[ML]/g) || []).length))";
    chrome.eval(script).as_u64().unwrap_or_default()
}

fn a_database_that_falls_silent_is_told_and_the_page_goes_on_when_it_is_back(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    store.tenure(&["migrate"]).ok();
    send(store, &["--topic", "orders", "{}"]);
    let proxy = Proxy::before(store.url());
    let dashboard = Dashboard::start_with(store, "dashboard", &proxy.url(store.url()), &[]);
    chrome.log_in(&dashboard.url, &dashboard.viewer.token);
    chrome.go(&dashboard.at("/outbox"));
    chrome.wait_for("#live", "live");
    chrome.wait_text("main", "something drawn", |_| points(&chrome) >= 3);
    let before = points(&chrome);
    for (link, says) in [(Link::Silent, "database"), (Link::Refused, "The database gives no answer since")] {
        // The page that is open is told, without being asked for again.
        proxy.set(link);
        chrome.wait_for("#part-banner", says);
        assert!(chrome.text("#part-banner").contains("What you see is from") || says == "database");
        // One that is asked for meanwhile comes in time, and says which part of it is missing.
        let began = Instant::now();
        chrome.go(&dashboard.at("/outbox"));
        assert!(began.elapsed() < Duration::from_secs(10), "{link:?}: it took {:?}", began.elapsed());
        chrome.wait_for("main", "This part is missing");
        chrome.go(&dashboard.at(""));
        chrome.wait_for("#part-banner", "database");
        chrome.go(&dashboard.at("/outbox"));
        // The database is back: the page goes on by itself.
        proxy.set(Link::Open);
        chrome.wait_text("#part-banner", "no banner", |text| text.trim().is_empty());
        chrome.wait_for("#live", "live");
        let after = points(&chrome);
        assert!(after >= before, "{link:?}: {before} points before, {after} after");
        chrome.go(&dashboard.at("/outbox"));
        chrome.wait_for("main tbody", "orders");
    }
    send(store, &["--topic", "orders", "{}"]);
    chrome.wait_text("main .tiles", "the second message", |text| text.contains("waits\n2"));
    // Answers of 503 were to be expected, and are all that the browser complains about.
    let complaints = chrome.complaints();
    assert!(complaints.iter().all(|line| line.contains("503")), "{complaints:?}");
}
