//! Texts that others wrote, and parameters that nobody should send.

use tenure_dashboard::mutation::Rule;
use tenure_dashboard::{Redact, routes};

use crate::checks::{Found, demand};
use crate::house::{DEAD_ID, House, SECRET, Who};
use crate::{page, samples};

const TEXTS: [&str; 24] = [
    "<script>document.title='owned'</script>",
    "\"><img src=x onerror=alert(1)>",
    "'><svg onload=alert(1)>",
    "\" autofocus onfocus=alert(1) x=\"",
    "</title><script>1</script>",
    "</textarea><script>1</script>",
    "</pre><iframe src=//evil.test>",
    "<!-- --><b>",
    "--><script>1</script>",
    "javascript:alert(1)",
    "data:text/html,<script>1</script>",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "\u{202e}txet desrever",
    "../../../../etc/passwd",
    "%00%0d%0aset-cookie: x=1",
    "' OR 1=1 --",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "=cmd()|'/c calc'!A0",
    "a\u{2028}b",
    "\u{feff}<script>1</script>",
    "<style>*{display:none}</style>",
    "<base href=//evil.test>",
    "<meta http-equiv=refresh content=0;url=//evil.test>",
];

#[tokio::test(start_paused = true)]
async fn no_text_of_others_becomes_part_of_a_page() {
    assert_eq!(texts_stay_texts(None).await, Ok(()));
}

/// A page has the same elements and attributes whatever the texts in it are, and only ours.
pub(crate) async fn texts_stay_texts(rule: Option<Rule>) -> Found {
    let plain = House::with(rule, |dashboard| dashboard, "something").await;
    for text in TEXTS {
        let house = House::with(rule, |dashboard| dashboard, text).await;
        for route in routes()
            .filter(|route| route.method == "GET" && route.path != "/live" && !route.path.contains('*'))
        {
            let path = format!("{}{}", route.path, samples::query(route.path, text));
            let told = house.get(&path).bearer(Who::OperatePayloads).send().await;
            demand(told.status != 500, || format!("{path} breaks"))?;
            match told.header("content-type") {
                "text/html; charset=utf-8" => {
                    let problems = page::problems(&told.body);
                    demand(problems.is_empty(), || format!("{text:?} at {path}: {problems:?}"))?;
                    let path = format!("{}{}", route.path, samples::query(route.path, "something"));
                    let beside = plain.get(&path).bearer(Who::OperatePayloads).send().await;
                    let (bones, plain) = (page::bones(&told.body), page::bones(&beside.body));
                    let first = bones.iter().zip(&plain).find(|(one, other)| one != other);
                    demand(bones == plain, || format!("{text:?} changes {path}: {first:?}"))?;
                }
                "application/json" => drop(told.json()),
                // A download, or a line of text; a browser runs neither.
                kind => {
                    let harmless =
                        ["", "application/octet-stream", "text/plain; charset=utf-8"].contains(&kind);
                    demand(harmless, || format!("{path}: {kind}"))?;
                }
            }
            demand(told.header("x-content-type-options") == "nosniff", || path.clone())?;
            demand(!told.headers.contains_key("set-cookie"), || path.clone())?;
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_comes_back_escaped_or_not_at_all() {
    let house = House::new(None).await;
    // A text of each kind: every route is asked with every parameter for each of them.
    for text in [TEXTS[0], TEXTS[1], TEXTS[5], TEXTS[9], TEXTS[15]] {
        let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        for route in routes()
            .filter(|route| route.method == "GET" && route.path != "/live" && !route.path.contains('*'))
        {
            let names = [
                "id", "name", "topic", "source", "type", "state", "from", "until", "before", "after",
                "prefix", "limit", "cause",
            ];
            let others = [
                "stream",
                "correlation",
                "subscription",
                "actor",
                "action",
                "subject",
                "to",
                "node",
                "version",
                "unknown",
                "notice",
            ];
            for name in names.into_iter().chain(others) {
                let told = house
                    .get(&format!("{}?{name}={encoded}", route.path))
                    .bearer(Who::OperatePayloads)
                    .send()
                    .await;
                assert!(told.status < 500, "{} {name}={text:?}: {}", route.path, told.body);
                if told.header("content-type").starts_with("text/html") {
                    assert_eq!(
                        page::problems(&told.body),
                        Vec::<String>::new(),
                        "{} {name}={text:?}",
                        route.path
                    );
                }
                assert!(!told.header("location").contains("evil"), "{}", route.path);
            }
        }
    }
}

pub(crate) async fn parameters_are_bounded(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let long = |bytes: usize| "x".repeat(bytes);
    for (query, status) in [
        ("limit=1", 200),
        ("limit=200", 200),
        ("limit=0", 400),
        ("limit=201", 400),
        ("limit=-1", 400),
        ("limit=1&limit=2", 400),
        ("limit=99999999999999999999", 400),
        ("state=dead", 200),
        ("state=DEAD", 400),
        ("from=1969-12-31T23:59:59Z", 400),
        ("from=-15m&until=9999-12-31T23:59:59Z", 200),
        ("topic=%00", 400),
        ("unknown=1", 400),
        (&format!("topic={}", long(500)), 200),
        (&format!("topic={}", long(501)), 400),
        (&format!("id={}", long(101)), 400),
        (&format!("unknown={}", long(4_100)), 413),
        (&"a=1&".repeat(65), 400),
    ] {
        let told = house.get(&format!("/api/v1/outbox/messages?{query}")).bearer(Who::View).send().await;
        let shown: String = query.chars().take(40).collect();
        demand(told.status == status, || format!("{shown}: {} {}", told.status, told.body))?;
        demand(!told.body.contains(&long(101)), || "what was sent is sent back".to_owned())?;
    }
    Ok(())
}

pub(crate) async fn a_large_payload_is_cut(rule: Option<Rule>) -> Found {
    let large = "x".repeat(10 * 1024 * 1024);
    let house = House::with(rule, |dashboard| dashboard, &large).await;
    for route in routes()
        .filter(|route| route.method == "GET" && route.path != "/live" && route.path != "/message/payload")
    {
        let path = format!("{}{}", route.path, samples::query(route.path, &large));
        let told = house.get(&path).bearer(Who::ViewPayloads).send().await;
        demand(told.body.len() < 300 * 1024, || format!("{path} has {} bytes", told.body.len()))?;
    }
    let told =
        house.get(&format!("/api/v1/outbox/message?id={DEAD_ID}")).bearer(Who::ViewPayloads).send().await;
    demand(told.json()["payload_cut"] == true, || "it is not said that it was cut".to_owned())
}

/// Leaves nothing of the secret.
struct Careful;

impl Redact for Careful {
    fn payload(&self, _topic: &str, _kind: &str, payload: &mut Vec<u8>) {
        *payload = String::from_utf8_lossy(payload).replace(SECRET, "[hidden]").into_bytes();
    }
    fn header(&self, _name: &str, value: &mut String) {
        *value = value.replace(SECRET, "[hidden]");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_redacted_is_seen_by_nobody() {
    let redacted = |dashboard: tenure_dashboard::Dashboard| dashboard.redact(std::sync::Arc::new(Careful));
    let house = House::with(None, redacted, "something").await;
    for route in routes().filter(|route| route.method == "GET" && route.path != "/live") {
        let path = format!("{}{}", route.path, samples::query(route.path, "something"));
        let told = house.get(&path).bearer(Who::OperatePayloads).send().await;
        assert!(!told.body.contains(SECRET), "{path}: {}", told.body);
    }
    let told =
        house.get(&format!("/api/v1/outbox/message?id={DEAD_ID}")).bearer(Who::ViewPayloads).send().await;
    assert!(told.body.contains("[hidden] something"), "{}", told.body);
}
