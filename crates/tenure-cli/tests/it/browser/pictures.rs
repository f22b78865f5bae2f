//! Pictures for the documentation, and what can be measured on them: no page is wider than a phone, and every text stands out
//! from what is behind it.
//!
//! `TENURE_WRITE_PICTURES=1` writes them to `docs/pictures/`; otherwise they are taken, looked at, and thrown away.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use super::chrome::Chrome;
use super::stage::{Dashboard, refusal, send};
use tenure::{DaemonName, DaemonSpec};

use crate::harness::{Answer, ClusterNode, Receiver, Relay, Store, declare, tests_on, wait_until};

tests_on!(sqlite: pages_fit_a_phone_and_can_be_read_light_and_dark);

/// The contrast that the guidelines for the web ask for in plain text.
const CONTRAST: f64 = 4.5;

fn pages_fit_a_phone_and_can_be_read_light_and_dark(store: &Store) {
    let Some(chrome) = Chrome::start() else { return };
    let writes = std::env::var("TENURE_WRITE_PICTURES").is_ok_and(|value| value == "1");
    let folder = match writes {
        true => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures"),
        false => PathBuf::from(store.path("pictures")),
    };
    std::fs::create_dir_all(&folder).expect("a folder");
    let scene = Scene::build(store);
    let dashboard = Dashboard::start(store, "dashboard");
    chrome.log_in(&dashboard.url, &dashboard.operator.token);
    chrome.wait_for("#part-overview", "dead messages");
    let feeding = Scene::feed(store);
    if writes {
        // passes time: so that the drawings have something to show
        std::thread::sleep(Duration::from_secs(100));
    }
    let message = format!("/message?id={}", scene.dead);
    let pages = [
        ("overview", ""),
        ("cluster", "/cluster"),
        ("message", message.as_str()),
        ("dead", "/dead"),
        ("outbox", "/outbox?state=dead"),
        ("", "/jobs"),
        ("", "/leases"),
        ("", "/lease?name=outbox"),
        ("", "/daemons"),
        ("", "/streams"),
        ("", "/subscriptions"),
        ("", "/audit"),
    ];
    for dark in [false, true] {
        let scheme = if dark { "dark" } else { "light" };
        for (name, path) in pages {
            for (width, height) in [(1280, 800), (375, 812)] {
                chrome.screen(width, height, dark);
                chrome.go(&dashboard.at(path));
                chrome.wait_for("footer", "You are");
                chrome.wait_text("#live", "a live page, or one that is still", |text| {
                    text == "live" || text == "not live"
                });
                let wide = chrome.eval("return document.documentElement.scrollWidth - window.innerWidth");
                assert!(
                    wide.as_i64().is_some_and(|wide| wide <= 0),
                    "{path} is {wide} px too wide for {width} px"
                );
                assert_eq!(too_faint(&chrome), Vec::<String>::new(), "{path}, {scheme}, {width} px");
                let file = match (name, width) {
                    ("", _) => continue,
                    ("overview", 375) => format!("phone-{scheme}.png"),
                    (_, 375) => continue,
                    (name, _) => format!("{name}-{scheme}.png"),
                };
                chrome.picture(&folder.join(file));
            }
        }
    }
    feeding.store(false, SeqCst);
    assert_eq!(chrome.complaints(), Vec::<String>::new());
}

/// Something of everything that an operator looks at.
struct Scene {
    dead: String,
    _relays: Vec<Relay>,
    _nodes: Vec<ClusterNode>,
    _receiver: Receiver,
}

impl Scene {
    fn build(store: &Store) -> Self {
        let receiver = Receiver::with(|request, count| match request.text() {
            text if text.contains("4711") => Answer::Say(refusal("customer 4711 is not known here")),
            text if text.contains("closed") => Answer::Say(refusal("the account is closed")),
            text if text.contains("later") && count < 4 => {
                Answer::Say("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 9\r\n\r\ntry later".into())
            }
            _ => Answer::Apply,
        });
        let payload = "{\"order\":1042,\"customer\":4711,\"lines\":[{\"sku\":\"A-17\",\"count\":2},{\"sku\":\"B-4\",\"count\":1}]}";
        let options = [
            "--topic",
            "orders",
            "--type",
            "OrderPlaced",
            "--source",
            "order-1042",
            "--header",
            "correlation=checkout-88",
        ];
        let dead = send(store, &[&options[..], &[payload]].concat());
        for number in 1..5 {
            let payload = format!("{{\"invoice\":{number},\"account\":\"closed\"}}");
            send(store, &["--topic", "invoices", "--type", "InvoiceSent", &payload]);
        }
        let start = |name: &str| {
            Relay::start(store, name, &receiver.url(), &["--on-dead", "skip", "--retry-first", "300ms"])
        };
        let relays = vec![start("berlin-1"), start("berlin-2"), start("paris-1")];
        let stats = || store.tenure(&["outbox", "stats", "--json"]).ok().json();
        wait_until("some are dead", || stats()["dead"] == 5);
        let nodes = ["berlin-1", "berlin-2"]
            .map(|name| ClusterNode::joined(store, &format!("{name}-node"), &["--family", "work"]))
            .into();
        let daemon = |name: &str| DaemonSpec::new(DaemonName::new(name).expect("a name"));
        declare(store, ["work/reports", "work/invoices", "work/mail"].map(daemon).into());
        Self { dead, _relays: relays, _nodes: nodes, _receiver: receiver }
    }

    /// Sends messages until it is told to stop.
    fn feed(store: &Store) -> Arc<AtomicBool> {
        let on = Arc::new(AtomicBool::new(true));
        let (goes_on, outbox) = (Arc::clone(&on), format!("{}outbox", store.prefix()));
        let file = store.url().trim_start_matches("sqlite:").to_owned();
        std::thread::spawn(move || {
            let connection = rusqlite::Connection::open(file).expect("a connection");
            connection.busy_timeout(Duration::from_secs(5)).expect("a patient connection");
            while goes_on.load(SeqCst) {
                let some = 20 + fastrand::usize(..40);
                let row = |_| {
                    format!(
                        "('orders', 'OrderPlaced', '{{\"order\":{},\"{}\":1}}')",
                        fastrand::u32(1000..4700),
                        if fastrand::u8(..20) == 0 { "later" } else { "now" }
                    )
                };
                let rows: Vec<String> = (0..some).map(row).collect();
                let sent = connection.execute(
                    &format!("insert into {outbox} (topic, type, payload) values {}", rows.join(", ")),
                    [],
                );
                if sent.is_err() {
                    return;
                }
                // passes time: messages come at a pace
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        on
    }
}

/// Texts whose colour is too near to the ground behind them, with both.
fn too_faint(chrome: &Chrome) -> Vec<String> {
    let script = r"
        const channel = c => { c /= 255; return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4) };
        const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
        const read = text => (text.match(/[\d.]+/g) || []).map(Number);
        const ground = element => {
            for (let e = element; e; e = e.parentElement) {
                const c = read(getComputedStyle(e).backgroundColor);
                if (c.length === 3 || c[3] > 0.99) return c;
            }
            return [255, 255, 255];
        };
        const faint = new Set();
        for (const e of document.querySelectorAll('body *')) {
            const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
            if (!own || e.closest('svg') || e.closest('dialog') || e.closest('.unseen, .skip') || !e.getClientRects().length) continue;
            const [a, b] = [light(read(getComputedStyle(e).color)), light(ground(e))];
            const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (contrast < LEAST) faint.add(e.tagName + '.' + e.className + ' ' + contrast.toFixed(2));
        }
        return [...faint]"
        .replace("LEAST", &CONTRAST.to_string());
    let found = chrome.eval(&script);
    found.as_array().into_iter().flatten().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}
