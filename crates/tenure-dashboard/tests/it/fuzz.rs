//! Anything at all sent to every route: nothing panics, every answer comes soon and is bounded, and what is wrong with a request
//! is told as its sender's fault.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, HeaderValue, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tenure_dashboard::{Auth, Hosts, SigningKey, routes};
use tower::ServiceExt;

use crate::house::{HOST, House, Who, filled, tokens};

/// Names that are read somewhere, and some that are not.
const NAMES: [&str; 22] = [
    "state", "topic", "source", "type", "id", "from", "until", "cause", "before", "after", "limit", "rate",
    "name", "stream", "position", "prefix", "node", "parts", "to", "dry_run", "token", "x",
];
/// What is an edge of something, or was one elsewhere.
const EDGES: [&str; 24] = [
    "",
    "0",
    "-1",
    "1",
    "200",
    "201",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "9223372036854775808",
    "1e400",
    "NaN",
    "dead",
    "true",
    "%",
    "%00",
    "%ff%fe",
    "..%2f..",
    "-15m",
    "-99999999999999d",
    "9999-99-99T99:99:99Z",
    "0000-01-01T00:00:00Z",
    "2026-02-30T00:00:00.999999999999Z",
    "<script>alert(1)</script>",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(EDGES.to_vec()).prop_map(str::to_owned),
        // A cursor as answers have them, mended by hand.
        "[0-9a-f]{0,40}([.:_-][0-9A-Za-z+/=]{0,40}){0,3}",
        any::<u64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,80}",
        vec(any::<u8>(), 0..80).prop_map(|bytes| bytes.iter().map(|byte| format!("%{byte:02x}")).collect()),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    vec((proptest::sample::select(NAMES.to_vec()), value()), 0..6)
}

/// As it can stand in an address: what cannot is written in hexadecimal.
fn query(pairs: &[(&'static str, String)]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"%.-_~:+=".contains(&byte);
    let text = |value: &str| -> String {
        let write =
            |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
        value.bytes().map(write).collect()
    };
    pairs.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join("&")
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

struct Desk {
    house: House,
    runtime: tokio::runtime::Runtime,
}

impl Desk {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let house = runtime.block_on(async {
            let auth = Auth::tokens(tokens()).signed_with(SigningKey::new([9; 32]).unwrap());
            House::of(filled("something").await, auth, Hosts::these([HOST]).unwrap(), None, |dashboard| {
                dashboard
            })
        });
        Self { house, runtime }
    }

    /// Sends a request; its status, and how much came.
    fn send(&self, mut request: Request<Body>) -> (u16, usize) {
        request.extensions_mut().insert(ConnectInfo(std::net::SocketAddr::from(([10, 9, 8, 7], 1))));
        self.runtime.block_on(async {
            let answer = self.house.router.clone().oneshot(request).await.unwrap();
            let status = answer.status().as_u16();
            let bytes = axum::body::to_bytes(answer.into_body(), 8 * 1024 * 1024)
                .await
                .expect("an answer with an end");
            (status, bytes.len())
        })
    }

    /// Whether an answer is as it must be, whatever was sent.
    fn judge(&self, what: &str, request: Request<Body>) -> Result<u16, TestCaseError> {
        let began = Instant::now();
        let (status, bytes) = self.send(request);
        prop_assert!(began.elapsed() < Duration::from_secs(3), "{what} took {:?}", began.elapsed());
        prop_assert!(bytes < 4 * 1024 * 1024, "{what}: {bytes} bytes");
        // 503 is for too many jobs at once: a change may begin one.
        prop_assert!((200..500).contains(&status) || status == 503, "{what}: {status}");
        Ok(status)
    }
}

fn looks() -> Vec<&'static str> {
    // A live view does not end, and has no parameter but a word.
    routes().filter(|route| route.method == "GET" && route.path != "/live").map(|route| route.path).collect()
}

fn changes() -> Vec<&'static str> {
    routes().filter(|route| route.method == "POST").map(|route| route.path).collect()
}

fn bearer() -> String {
    format!("Bearer {}", Who::OperatePayloads.token().unwrap())
}

#[test]
fn any_parameters_of_any_page() {
    let desk = Desk::new();
    let asked = (proptest::sample::select(looks()), pairs());
    let run = runner(600).run(&asked, |(path, pairs)| {
        let address = format!("/_tenure{}?{}", path.replace('*', "x"), query(&pairs));
        let Ok(request) =
            Request::get(&address).header("host", HOST).header("authorization", bearer()).body(Body::empty())
        else {
            return Ok(());
        };
        let status = desk.judge(&address, request)?;
        prop_assert_ne!(status, 503, "{}", address);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn any_body_of_any_change() {
    let desk = Desk::new();
    let body = prop_oneof![
        vec(any::<u8>(), 0..400),
        pairs().prop_map(|pairs| query(&pairs).into_bytes()),
        pairs().prop_map(|pairs| {
            let fields: serde_json::Map<_, _> =
                pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            serde_json::Value::from(fields).to_string().into_bytes()
        }),
        (1_usize..3_000).prop_map(|depth| "[".repeat(depth).into_bytes()),
        (1_usize..3_000).prop_map(|depth| "{\"filter\":".repeat(depth).into_bytes()),
    ];
    let kinds = vec![
        "application/json",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-8",
        "text/plain",
    ];
    let asked = (proptest::sample::select(changes()), proptest::sample::select(kinds), body);
    let run = runner(600).run(&asked, |(path, kind, body)| {
        let what = format!("{path} {kind} {}", String::from_utf8_lossy(&body));
        let request =
            Request::post(format!("/_tenure{path}")).header("host", HOST).header("content-type", kind);
        let request = request.header("authorization", bearer()).body(Body::from(body)).unwrap();
        desk.judge(&what, request)?;
        Ok(())
    });
    run.unwrap();
}

#[test]
fn any_headers_and_nobody_gets_in_by_them() {
    let desk = Desk::new();
    let names = [
        "host",
        "cookie",
        "authorization",
        "origin",
        "sec-fetch-site",
        "x-forwarded-for",
        "x-tenure-csrf",
        "accept",
    ];
    // Beginnings of what is right, and anything behind them.
    let begins = [
        "",
        "Bearer ",
        "Basic ",
        "tenure=",
        "tenure_session=",
        "__Host-tenure=",
        "ops.example.com",
        "https://",
        "[::",
        "1.1.",
    ];
    let header = (
        proptest::sample::select(names.to_vec()),
        proptest::sample::select(begins.to_vec()),
        vec(any::<u8>(), 0..120),
    );
    let asked = (proptest::sample::select(looks()), vec(header, 0..5), any::<bool>());
    let run = runner(600).run(&asked, |(path, headers, ours)| {
        let mut request =
            Request::get(format!("/_tenure{}", path.replace('*', "x"))).body(Body::empty()).unwrap();
        if ours {
            request.headers_mut().append("host", HeaderValue::from_static(HOST));
        }
        for (name, begin, rest) in &headers {
            let bytes: Vec<u8> = begin.bytes().chain(rest.iter().copied()).collect();
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                request.headers_mut().append(HeaderName::from_static(name), value);
            }
        }
        let what = format!("{path} {:?}", request.headers());
        let open = path == "/login" || path.contains("/assets");
        let status = desk.judge(&what, request)?;
        prop_assert!(open || status >= 300, "{} let somebody in: {}", what, status);
        Ok(())
    });
    run.unwrap();
}
