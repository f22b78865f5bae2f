//! A whole group of dead messages: a dry run, a job with a rate, and stopping it in the middle.

use super::chrome::Chrome;
use super::stage::{Dashboard, refusal};
use crate::harness::{Answer, Receiver, Relay, Store, tests_on, wait_until};

tests_on!(sqlite: a_group_is_retried_at_a_rate_and_stopped_in_the_middle);

const DEAD: usize = 300;

fn a_group_is_retried_at_a_rate_and_stopped_in_the_middle(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    store.tenure(&["migrate"]).ok();
    let outbox = format!("{}outbox", store.prefix());
    let rows: Vec<String> = (0..DEAD).map(|number| format!("('t', 'k', '{number}')")).collect();
    store.execute(&format!("insert into {outbox} (topic, type, payload) values {}", rows.join(", ")));
    let receiver =
        Receiver::with(|request, _| Answer::Say(refusal(&format!("order {} is closed", request.text()))));
    let mut relay = Relay::start(store, "n1", &receiver.url(), &[]);
    let stats = || store.tenure(&["outbox", "stats", "--json"]).ok().json();
    wait_until("all are dead", || stats()["dead"] == DEAD);
    // So that what is retried stays pending, and can be counted.
    relay.stop();
    let dashboard = Dashboard::start(store, "dashboard");
    chrome.log_in(&dashboard.url, &dashboard.operator.token);
    chrome.go(&dashboard.at("/dead"));
    let page = chrome.wait_for("main tbody", "300");
    assert_eq!(
        chrome.eval("return document.querySelectorAll('main tbody tr').length"),
        1,
        "one cause: {page}"
    );
    chrome.press("Look");
    chrome.press("Retry this group");
    chrome.wait_for("main h1", "Retry 300 messages?");
    assert_eq!(stats()["dead"], DEAD, "a dry run changes nothing");
    chrome.write("input[name=rate]", "50");
    chrome.press("Retry 300 messages");
    chrome.wait_for("main h1", "Job");
    chrome.wait_text("main", "some progress", |text| {
        !text.contains("\n0 of about") && text.contains("of about 300")
    });
    chrome.press("Stop");
    let page = chrome.wait_for("main", "stopped by ada");
    let left = stats();
    let (dead, pending) = (left["dead"].as_u64().unwrap(), left["pending"].as_u64().unwrap());
    assert!(dead > 0 && pending > 0 && dead + pending == 300, "{left}");
    assert!(page.contains(&format!("{pending} of about 300 messages pending again")), "{pending}: {page}");
    // The rest is discarded, after a question.
    chrome.go(&dashboard.at("/dead"));
    chrome.press("Discard all");
    chrome.wait_for("main h1", &format!("Discard {dead} message"));
    chrome.write("input[name=rate]", "1000");
    chrome.press(&format!("Discard {dead} message"));
    chrome.accept();
    chrome.wait_for("main", "the limit is reached");
    assert_eq!(stats()["discarded"], dead);
    chrome.go(&dashboard.at("/jobs"));
    let page = chrome.wait_for("main", "job.discard.end");
    assert!(page.contains("job.retry.begin") && page.contains("ada"), "{page}");
    assert_eq!(chrome.complaints(), Vec::<String>::new());
}
