//! Who has no token, the wrong one, or one that does not allow it.

use super::chrome::Chrome;
use super::stage::{Dashboard, EXPIRED, OPERATOR, VIEWER, refusal, send};
use crate::harness::{Answer, Receiver, Relay, Store, tests_on};

tests_on!(sqlite: nobody_gets_in_without_a_token_and_nobody_acts_without_the_right);

fn nobody_gets_in_without_a_token_and_nobody_acts_without_the_right(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    let receiver = Receiver::with(|_, _| Answer::Say(refusal("never")));
    let id = send(store, &["--topic", "orders", "SECRET-PAYLOAD"]);
    let _relay = Relay::start(store, "n1", &receiver.url(), &[]);
    let dashboard = Dashboard::start(store, "dashboard");
    // Without a token every page leads to the login.
    for path in ["", "/outbox", "/dead", "/cluster", "/audit"] {
        chrome.go(&dashboard.at(path));
        chrome.wait_for("main h1", "Log in");
        assert!(!chrome.text("body").contains("SECRET"), "{path}");
    }
    for (token, words) in [("a-token-that-nobody-has-ever-made", "not known"), (EXPIRED, "ended on 2020-01-01")] {
        chrome.write("input[name=password]", token);
        chrome.click("form button.main");
        chrome.wait_for("main", words);
    }
    // A viewer sees that it is dead, not what it says, and has no button.
    chrome.log_in(&dashboard.url, VIEWER);
    chrome.wait_for("main h1", "1 message is dead");
    chrome.go(&dashboard.at(&format!("/message?id={id}")));
    let page = chrome.wait_for("main", "You may look at it, but not retry or discard it.");
    assert!(page.contains("hidden") && !chrome.text("html").contains("SECRET"), "{page}");
    assert_eq!(chrome.eval("return document.querySelectorAll('main form').length"), 0);
    // Nor does it help to send the form by hand, from a page of ours.
    let by_hand = "const csrf = document.querySelector('[name=csrf]').value; \
         const body = new URLSearchParams({ csrf, id: arguments[0] }); \
         return fetch('act/retry', { method: 'POST', body }).then(answer => answer.status)";
    let status = chrome.eval(&by_hand.replace("arguments[0]", &format!("'{id}'")));
    assert_eq!(status, 403);
    // Taking the token away ends the session.
    chrome.click("footer button");
    chrome.wait_for("main h1", "Log in");
    chrome.log_in(&dashboard.url, OPERATOR);
    chrome.go(&dashboard.at(&format!("/message?id={id}")));
    chrome.wait_for("main", "SECRET-PAYLOAD");
    dashboard.revoke();
    chrome.wait_text("main h1", "the login", |text| {
        let at_login = text.contains("Log in");
        if !at_login {
            chrome.go(&dashboard.at("/outbox"));
        }
        at_login
    });
}
