//! The scene that the dashboard is for: an operator finds a dead message, reads why, retries it and sees it delivered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::chrome::Chrome;
use super::stage::{Dashboard, refusal, send};
use crate::harness::{Answer, Receiver, Relay, Store, tests_on};

tests_on!(sqlite: e3_an_operator_finds_a_dead_message_reads_why_retries_it_and_sees_it_delivered, keys_alone_lead_to_a_retried_message);
tests_on!(postgres: e3_an_operator_finds_a_dead_message_reads_why_retries_it_and_sees_it_delivered);

/// A receiver that does not know a customer until it is mended.
fn receiver() -> (Receiver, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let receiver = Receiver::with(move |request, _| {
        let stranger = request.text().contains("stranger");
        if stranger && !is_mended.load(SeqCst) {
            return Answer::Say(refusal("customer 4711 is not known here"));
        }
        Answer::Apply
    });
    (receiver, mended)
}

/// An id as tables show it, so that it fits into one line.
fn short(id: &str) -> String {
    format!("{}…{}", &id[..8], &id[id.len() - 4..])
}

fn e3_an_operator_finds_a_dead_message_reads_why_retries_it_and_sees_it_delivered(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    let (receiver, mended) = receiver();
    send(store, &["--topic", "orders", "{\"customer\":\"friend\"}"]);
    let id = send(store, &["--topic", "orders", "--type", "OrderPlaced", "{\"customer\":\"stranger\"}"]);
    let _relay = Relay::start(store, "n1", &receiver.url(), &[]);
    let dashboard = Dashboard::start(store, "dashboard");
    chrome.log_in(&dashboard.url, &dashboard.operator.token);
    // The overview says so by itself, in words.
    chrome.wait_for("main h1", "1 message is dead");
    chrome.wait_for("main", "customer 4711 is not known here");
    chrome.click("nav a[href$='/dead']");
    chrome.wait_for("main h1", "Dead messages");
    chrome.press("customer 4711 is not known here");
    chrome.wait_for("main h1", "Dead of one cause");
    chrome.press(&short(&id));
    chrome.wait_for("main h1", &id);
    let page = chrome.text("main");
    for words in ["HTTP 400: customer 4711 is not known here", "rejected", "n1", "\"customer\": \"stranger\""]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    mended.store(true, SeqCst);
    chrome.press("Retry");
    chrome.wait_text("main .notice", "what became of it", |text| {
        text.contains("pending again") || text.contains("was retried")
    });
    // What follows is seen without loading the page again.
    chrome.eval("window.the_same_page = true");
    chrome.wait_for(".head .state", "dispatched");
    let page = chrome.wait_for("main", "has been delivered");
    assert!(page.contains("ada (dashboard, request "), "{page}");
    assert_eq!(chrome.eval("return window.the_same_page"), true, "the page was not loaded again");
    assert_eq!(receiver.applied(), 2);
    chrome.click("nav a[href$='/audit']");
    chrome.wait_for("main h1", "Audit");
    let audit = chrome.text("main tbody tr");
    assert!(audit.contains("ada") && audit.contains("outbox retry") && audit.contains(&id), "{audit}");
    chrome.click("nav a[href$='/_tenure']");
    chrome.wait_for("main h1", "nothing waits");
    assert_eq!(chrome.complaints(), Vec::<String>::new());
}

fn keys_alone_lead_to_a_retried_message(store: &Store) {
    const ENTER: &str = "\u{e007}";
    let Some(chrome) = Chrome::start() else { return };
    let (receiver, mended) = receiver();
    let id = send(store, &["--topic", "orders", "{\"customer\":\"stranger\"}"]);
    let _relay = Relay::start(store, "n1", &receiver.url(), &[]);
    let dashboard = Dashboard::start(store, "dashboard");
    chrome.log_in(&dashboard.url, &dashboard.operator.token);
    chrome.wait_for("main h1", "1 message is dead");
    mended.store(true, SeqCst);
    chrome.go(&dashboard.at("/outbox"));
    chrome.wait_for("main tbody", &short(&id));
    chrome.key("/");
    assert_eq!(chrome.eval("return document.activeElement.name"), "id");
    chrome.key(&id);
    chrome.key(ENTER);
    chrome.wait_text("main tbody", "the one message", |text| text.contains(&short(&id)));
    chrome.eval("document.activeElement.blur()");
    chrome.key("j");
    chrome.key(ENTER);
    chrome.wait_for("main h1", &id);
    // The way of the tabulator reaches the button, and shows where it is.
    for _ in 0..60 {
        if chrome.eval("return document.activeElement.innerText") == "Retry" {
            break;
        }
        chrome.key("\u{e004}");
    }
    assert_eq!(chrome.eval("return document.activeElement.innerText"), "Retry");
    assert_ne!(chrome.eval("return getComputedStyle(document.activeElement).outlineStyle"), "none");
    chrome.key(ENTER);
    chrome.wait_for(".head .state", "dispatched");
}
