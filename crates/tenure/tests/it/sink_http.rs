//! What the HTTP sink sends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use proptest::prelude::*;
use tenure::core::contract::Sink as _;
use tenure::core::outbox::{Body, Message, Verdict};
use tenure::sink::{Http, HttpOptions, SIGNATURE_HEADER, SinkOptions, from_url, verify_signature};

use crate::sink::{ID, message};
use crate::sink_server::{Asked, Receiver, say};

async fn receiver() -> Receiver {
    Receiver::start(|_| say(200, &[], "ok")).await
}

async fn sent(options: HttpOptions, message: &Message) -> Asked {
    let receiver = receiver().await;
    let sink = Http::new(&receiver.url(), "/shop".parse().unwrap(), options).unwrap();
    assert_eq!(sink.deliver(message).await, Verdict::Accepted);
    receiver.last()
}

#[tokio::test]
async fn a_message_is_posted_as_a_cloud_event_in_binary_mode() {
    let traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut order = message("OrderPlaced");
    order.headers.insert("traceparent".into(), traced.into());
    order.headers.insert("tracestate".into(), "a=1, b=2".into());
    let options = HttpOptions { token: Some("t0ken".into()), ..HttpOptions::default() };
    let asked = sent(options, &order).await;
    assert_eq!(asked.head.lines().next(), Some("POST /in HTTP/1.1"));
    assert_eq!(asked.body, br#"{"order":7}"#);
    let mut headers: BTreeMap<_, _> = asked.headers().into_iter().collect();
    assert!(headers.remove("host").unwrap().starts_with("127.0.0.1:"));
    assert!(headers.remove("user-agent").unwrap().starts_with("tenure/"));
    let expected = [
        ("authorization", "Bearer t0ken"),
        ("ce-id", ID),
        ("ce-source", "/shop"),
        ("ce-specversion", "1.0"),
        ("ce-subject", "orders"),
        ("ce-tenant", "blue"),
        ("ce-tenureattempt", "2"),
        ("ce-tenureseq", "3.1"),
        ("ce-tenuresource", "order-7"),
        ("ce-tenureterm", "9"),
        ("ce-time", "2026-11-15T09:30:00.123Z"),
        ("ce-traceparent", traced),
        ("ce-tracestate", "a=1,%20b=2"),
        ("ce-type", "OrderPlaced"),
        ("content-length", "11"),
        ("content-type", "application/json"),
        ("traceparent", traced),
        ("tracestate", "a=1, b=2"),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
}

#[tokio::test]
async fn what_a_message_does_not_have_is_not_sent() {
    let plain = Message {
        source: None,
        term: None,
        headers: BTreeMap::new(),
        body: Body::Bytes(vec![0, 1, 255]),
        content_type: Some("application/protobuf".into()),
        ..message("A")
    };
    let asked = sent(HttpOptions::default(), &plain).await;
    assert_eq!(asked.body, [0, 1, 255]);
    assert_eq!(asked.header("content-type").unwrap(), "application/protobuf");
    let absent = ["ce-tenuresource", "ce-tenureseq", "ce-tenureterm", "ce-tenureheaders", "authorization"];
    for name in absent.into_iter().chain([SIGNATURE_HEADER, "traceparent", "ce-traceparent"]) {
        assert_eq!(asked.header(name), None);
    }
}

#[tokio::test]
async fn a_trace_context_that_is_none_is_no_header_of_its_own() {
    let mut row = message("A");
    for wrong in ["00-aa-bb-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "nonsense"] {
        row.headers.insert("traceparent".into(), wrong.into());
        row.headers.insert("tracestate".into(), "vendor=1".into());
        let asked = sent(HttpOptions::default(), &row).await;
        assert_eq!((asked.header("traceparent"), asked.header("tracestate")), (None, None), "{wrong}");
        assert_eq!(asked.header("ce-traceparent").as_deref(), Some(wrong), "what the row says is not lost");
    }
}

/// What a request may hold besides attributes.
const OWN: [&str; 5] = ["host", "user-agent", "content-type", "content-length", "traceparent"];

#[tokio::test]
async fn a_row_sets_no_header_but_attributes_that_are_free() {
    let hostile = [
        "host",
        "Host",
        "authorization",
        "Authorization",
        "content-length",
        "Content-Length",
        "transfer-encoding",
        "Transfer-Encoding",
        "connection",
        "cookie",
        "Cookie",
        "x-forwarded-for",
        "X-Tenure-Signature",
        "x-tenure-signature",
        "ce-id",
        "ce-type",
        "id",
        "ID",
        "source",
        "type",
        "specversion",
        "subject",
        "time",
        "datacontenttype",
        "dataschema",
        "data",
        "tenureterm",
        "tenureseq",
        "tenuresource",
        "tenureattempt",
        "tenureheaders",
        "TenureTerm",
        "Traceparent",
        "a_b",
        "a.b",
        "evil\r\nhost: evil",
        "evil: x",
        "",
    ];
    let mut row = Message { source: None, term: None, headers: BTreeMap::new(), ..message("A") };
    row.headers.extend(hostile.map(|name| (name.to_owned(), "EVIL\r\nx-evil: EVIL".to_owned())));
    row.headers.insert("traceparent".into(), "00-1\r\nx-evil: EVIL".into());
    (row.topic, row.kind) = ("t\r\nx-evil: EVIL".into(), "k\0\n\nEVIL".into());
    let asked = sent(HttpOptions::default(), &row).await;
    for (name, value) in asked.headers() {
        assert!(name.starts_with("ce-") || OWN.contains(&name.as_str()), "{name}: {value}");
        assert!(!value.contains("EVIL") || value.contains("%"), "{name}: {value}");
    }
    assert_eq!(asked.header("ce-id").unwrap(), ID);
    assert_eq!(asked.header("ce-type").unwrap(), "k%00%0A%0AEVIL");
    assert_eq!(asked.header("ce-specversion").unwrap(), "1.0");
    assert_eq!(asked.header("ce-source").unwrap(), "/shop");
    assert_eq!(asked.header("ce-tenureattempt").unwrap(), "2");
    let absent =
        ["ce-tenureterm", "ce-tenureseq", "ce-tenuresource", "traceparent", "ce-data", "ce-dataschema"];
    assert!(absent.iter().all(|name| asked.header(name).is_none()), "{asked:?}");
    // Nothing is lost either: what is a free name is an attribute, and harmless as one.
    let rest = decode(&asked.header("ce-tenureheaders").unwrap());
    let rest: BTreeMap<String, String> = serde_json::from_str(&rest).unwrap();
    for name in hostile {
        let free = ["host", "authorization", "connection", "cookie"].contains(&name);
        assert_eq!(rest.contains_key(name), !free, "{name}");
        assert!(!free || asked.header(&format!("ce-{name}")).is_some(), "{name}");
    }
}

#[tokio::test]
async fn a_row_whose_content_type_cannot_be_sent_is_poison_and_nothing_is_sent() {
    let receiver = receiver().await;
    let sink = Http::new(&receiver.url(), Default::default(), HttpOptions::default()).unwrap();
    for content_type in
        ["text/plain\r\nhost: evil", "a\0", "téxt", "application/cloudevents+json", "APPLICATION/CLOUDEVENTS"]
    {
        let row = Message { content_type: Some(content_type.into()), ..message("A") };
        match sink.deliver(&row).await {
            Verdict::Poison { reason } => assert!(reason.starts_with("the content type `"), "{reason}"),
            other => panic!("{content_type}: {other:?}"),
        }
    }
    assert_eq!(receiver.connections(), 0);
}

/// Percent-decoding as CloudEvents has it, written anew.
fn decode(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        bytes.push(u8::from_str_radix(&rest[at + 1..at + 3], 16).unwrap());
        rest = &rest[at + 3..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn any_text_arrives_as_it_was() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let receiver = runtime.block_on(receiver());
    let sink = Http::new(&receiver.url(), Default::default(), HttpOptions::default()).unwrap();
    let text = || {
        prop_oneof![".{0,40}", proptest::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)]
    };
    let texts = (text(), text(), text(), text());
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let property = |(topic, kind, source, value): (String, String, String, String)| {
        let mut any = Message { topic, kind, source: Some(source), ..message("") };
        any.headers.insert("tenant".into(), value);
        let accepted = runtime.block_on(sink.deliver(&any));
        prop_assert_eq!(accepted, Verdict::Accepted);
        let asked = receiver.last();
        let mut expected = vec![("ce-subject", &any.topic), ("ce-type", &any.kind)];
        expected.extend([
            ("ce-tenuresource", any.source.as_ref().unwrap()),
            ("ce-tenant", &any.headers["tenant"]),
        ]);
        for (name, text) in expected {
            let value = asked.header(name).unwrap();
            prop_assert!(value.bytes().all(|b| (0x21..=0x7e).contains(&b) && b != b'"'), "{}", value);
            prop_assert_eq!(&decode(&value), text);
        }
        Ok(())
    };
    runner.run(&texts, property).unwrap();
}

/// HMAC-SHA256 by another library.
fn expected_signature(secret: &str, signed: &[u8]) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(signed);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_signature_is_what_the_documentation_says() {
    let options = HttpOptions { signing_secret: Some("s3cret".into()), ..HttpOptions::default() };
    let row = Message { body: Body::Bytes(vec![0, 255, b'.', b'\n']), ..message("A") };
    let asked = sent(options, &row).await;
    let header = asked.header(SIGNATURE_HEADER).unwrap();
    let (at, signature) = header.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let signed = [at.as_bytes(), b".", ID.as_bytes(), b".\0\xff.\n"].concat();
    assert_eq!(signature, expected_signature("s3cret", &signed));
    let now = SystemTime::now();
    let age = now.duration_since(UNIX_EPOCH).unwrap().as_secs().abs_diff(at.parse().unwrap());
    assert!(age < 60, "signed at {at}");

    let minute = Duration::from_secs(60);
    let verify = |secret: &str, header: &str, id: &str, body: &[u8], now| {
        verify_signature(&secret.into(), header, id, body, now, minute)
    };
    assert!(verify("s3cret", &header, ID, &asked.body, now));
    assert!(verify("s3cret", &format!("v1={},{header},v2=x", "0".repeat(64)), ID, &asked.body, now));
    assert!(!verify("other", &header, ID, &asked.body, now));
    assert!(!verify("s3cret", &header, "another id", &asked.body, now));
    assert!(!verify("s3cret", &header, ID, b"another body", now));
    assert!(!verify("s3cret", &header, ID, &asked.body, now + 3 * minute), "too old");
    assert!(!verify("s3cret", &header, ID, &asked.body, now - 3 * minute), "from the future");
    let cut = &header[..header.len() - 2];
    for bad in
        ["", "t=", &format!("t={at}"), &format!("v1={signature}"), &format!("t=+{at},v1={signature}"), cut]
    {
        assert!(!verify("s3cret", bad, ID, &asked.body, now), "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_used_again() {
    let receiver = receiver().await;
    let sink = Arc::new(Http::new(&receiver.url(), Default::default(), HttpOptions::default()).unwrap());
    for _ in 0..100 {
        assert_eq!(sink.deliver(&message("A")).await, Verdict::Accepted);
    }
    // Between two threads a connection may come back to the pool a moment after it was asked for.
    assert!(receiver.connections() <= 20, "{} connections", receiver.connections());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let sink = sink.clone();
        tasks.spawn(async move {
            for _ in 0..25 {
                assert_eq!(sink.deliver(&message("A")).await, Verdict::Accepted);
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(receiver.asked.lock().unwrap().len(), 300);
    assert!(receiver.connections() <= 60, "{} connections", receiver.connections());
}

#[tokio::test]
async fn a_receiver_that_closes_after_each_answer_gets_all() {
    let receiver = Receiver::start(|_| say(200, &["connection: close"], "ok")).await;
    let sink = Http::new(&receiver.url(), Default::default(), HttpOptions::default()).unwrap();
    for _ in 0..10 {
        assert_eq!(sink.deliver(&message("A")).await, Verdict::Accepted);
    }
    assert_eq!(receiver.connections(), 10);
}

#[tokio::test]
async fn a_url_makes_the_sink_and_its_path_and_query_are_kept() {
    let receiver = receiver().await;
    let url = format!("HTTP://127.0.0.1:{}/a%20b/ü?key=1&x=%2F#fragment", receiver.port);
    let sink = from_url(&url, SinkOptions::default()).unwrap();
    assert_eq!(sink.name(), format!("http://127.0.0.1:{}", receiver.port));
    assert_eq!(sink.deliver(&message("A")).await, Verdict::Accepted);
    assert!(receiver.last().head.starts_with("POST /a%20b/%C3%BC?key=1&x=%2F HTTP/1.1\r\n"));
}
