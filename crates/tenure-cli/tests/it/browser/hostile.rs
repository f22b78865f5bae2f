//! Texts that others wrote stay texts, in a real browser and on every page.

use super::chrome::Chrome;
use super::stage::{Dashboard, refusal, send};
use crate::harness::{Answer, Receiver, Relay, Store, tests_on, wait_until};

tests_on!(sqlite: a_script_in_a_payload_stays_text);

const SCRIPT: &str = "<script>document.title='owned'</script>";
const IMAGE: &str = "\"><img src=x onerror=\"document.title='owned'\">";

fn a_script_in_a_payload_stays_text(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    let receiver = Receiver::with(|_, _| Answer::Say(refusal(SCRIPT)));
    let header = format!("correlation={SCRIPT}");
    let mut ids = Vec::new();
    for text in [SCRIPT, IMAGE, "javascript:document.title='owned'", "\u{202e}txet"] {
        let all = ["--topic", text, "--type", text, "--source", text, "--header", &header, text];
        ids.push(send(store, &all));
    }
    let _relay =
        Relay::start(store, SCRIPT.replace('/', "|").as_str(), &receiver.url(), &["--on-dead", "skip"]);
    let dashboard = Dashboard::start(store, "dashboard");
    chrome.log_in(&dashboard.url, &dashboard.operator.token);
    chrome.wait_for("#part-dead", "4");
    wait_until("all are dead", || store.tenure(&["outbox", "stats", "--json"]).ok().json()["dead"] == 4);
    let quoted: String = form_urlencoded(SCRIPT);
    let mut pages: Vec<String> = [
        "",
        "/outbox",
        "/dead",
        "/jobs",
        "/cluster",
        "/leases",
        "/daemons",
        "/streams",
        "/subscriptions",
        "/audit",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.extend(ids.iter().map(|id| format!("/message?id={id}")));
    pages.extend([
        format!("/outbox?topic={quoted}"),
        format!("/outbox?source={quoted}&type={quoted}"),
        format!("/streams?prefix={quoted}"),
        format!("/story?correlation={quoted}"),
        format!("/audit?actor={quoted}"),
        format!("/daemons?prefix={quoted}"),
        "/lease?name=outbox".to_owned(),
    ]);
    for path in pages {
        chrome.go(&dashboard.at(&path));
        chrome.wait_for("footer", "You are");
        let title = chrome.eval("return document.title");
        assert!(title.as_str().is_some_and(|title| title.ends_with("· Tenure")), "{path}: {title}");
        assert_eq!(chrome.eval("return document.scripts.length"), 1, "{path}");
        assert_eq!(chrome.eval("return document.querySelectorAll('main img, main iframe, [onerror], [onload], [style]').length"), 0, "{path}");
        assert_eq!(
            chrome.eval(
                "return [...document.links].every(link => link.href.startsWith(location.origin + '/_tenure'))"
            ),
            true,
            "{path}"
        );
        assert_eq!(chrome.complaints(), Vec::<String>::new(), "{path}");
    }
    chrome.go(&dashboard.at(&format!("/message?id={}", ids[0])));
    assert!(chrome.wait_for("pre", "<script>").contains(SCRIPT), "it is shown as it is");
    // The policy lets nothing in a page run, whatever came into it.
    chrome.eval("const s = document.createElement('script'); s.textContent = \"document.title='owned'\"; document.body.append(s)");
    assert_ne!(chrome.eval("return document.title"), "owned");
}

fn form_urlencoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
