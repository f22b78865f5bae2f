//! A failover, seen while it happens.

use super::chrome::Chrome;
use super::stage::{Dashboard, VIEWER};
use crate::harness::{Receiver, Relay, Store, tests_on, wait_for};

tests_on!(sqlite: a7_a_failover_is_seen_live);
tests_on!(postgres: a7_a_failover_is_seen_live);

fn holder(store: &Store) -> Option<String> {
    let lease = store.leases().into_iter().find(|lease| lease["name"] == "outbox" && lease["state"] == "held")?;
    lease["node"].as_str().or_else(|| lease["node"]["name"].as_str()).map(str::to_owned)
}

fn a7_a_failover_is_seen_live(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    let receiver = Receiver::start();
    store.tenure(&["migrate"]).ok();
    let start = |name: &str| Relay::start(store, name, &receiver.url(), &["--ttl", "6s"]);
    let mut first = start("first");
    wait_for("the first relay holds the lease", || holder(store).filter(|name| name == "first"));
    let _second = start("second");
    let dashboard = Dashboard::start(store, "dashboard");
    chrome.log_in(&dashboard.url, VIEWER);
    chrome.wait_text("#part-overview", "the first in office", |text| text.contains("first holds outbox, term 1"));
    chrome.wait_for("#part-overview", "1 stands by");
    chrome.wait_for("#live", "live");
    chrome.eval("window.the_same_page = true");
    first.kill();
    chrome.wait_text("#part-overview", "the second in office", |text| text.contains("second holds outbox, term 2"));
    let page = chrome.wait_text("#part-overview", "why", |text| text.contains("crashed") || text.contains("expired"));
    assert!(page.contains("first"), "{page}");
    assert_eq!(chrome.eval("return window.the_same_page"), true, "the page was not loaded again");
    chrome.click("nav a[href$='/cluster']");
    chrome.wait_text("#part-cluster", "the second leads", |text| text.contains("leading, term 2"));
    assert_eq!(chrome.complaints(), Vec::<String>::new());
}
