//! Handlers, lines, and sinks by URL.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use serde_json::{Value, json};
use tenure::core::contract::Sink;
use tenure::core::outbox::{Body, Message, Sequence, Verdict};
use tenure::core::time::StoreTime;
use tenure::sink::{EventSource, Handlers, Lines, SinkError, SinkOptions, from_url, verdict};
use tokio::io::{AsyncReadExt as _, AsyncWrite};

pub(crate) const ID: &str = "6f1c2f9e-6a0b-4c7e-9a54-0d2d7b1c8e11";

/// A message of which only the type matters.
pub(crate) fn message(kind: &str) -> Message {
    Message {
        id: ID.parse().unwrap(),
        source: Some("order-7".into()),
        sequence: Sequence { version: 3, index: 1 },
        topic: "orders".into(),
        kind: kind.into(),
        body: Body::Text(r#"{"order":7}"#.into()),
        content_type: None,
        headers: [("tenant".to_owned(), "blue".to_owned())].into(),
        // 2026-11-15T09:30:00.123Z
        created_at: StoreTime::from_micros(1_794_735_000_123_456),
        attempt: 2,
        term: Some(9),
    }
}

fn reason(verdict: Verdict) -> String {
    match verdict {
        Verdict::Rejected { reason } | Verdict::Poison { reason } | Verdict::Transient { reason, .. } => {
            reason
        }
        other => panic!("{other:?} has no reason"),
    }
}

#[tokio::test]
async fn a_handler_is_called_for_its_type_and_sees_the_message() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let theirs = seen.clone();
    let handlers = Handlers::new()
        .on("OrderPlaced", move |message| {
            let seen = theirs.clone();
            Box::pin(async move {
                tokio::task::yield_now().await;
                seen.lock().unwrap().push((message.id.to_string(), message.attempt));
                Verdict::Accepted
            })
        })
        .unwrap()
        .on("Refused", |_| Box::pin(async { Verdict::rejected("no") }))
        .unwrap();
    assert_eq!(handlers.deliver(&message("OrderPlaced")).await, Verdict::Accepted);
    assert_eq!(handlers.deliver(&message("Refused")).await, Verdict::rejected("no"));
    assert_eq!(*seen.lock().unwrap(), [(ID.to_owned(), 2)]);
    assert_eq!((handlers.name(), handlers.batch_size()), ("handlers", 1));
    assert!(format!("{handlers:?}").contains(r#"["OrderPlaced", "Refused"]"#));
}

#[tokio::test]
async fn a_type_without_a_handler_is_poison_unless_there_is_one_for_the_rest() {
    let none = Handlers::new();
    let poison = Verdict::Poison { reason: "no handler for type `Strange`".into() };
    assert_eq!(none.deliver(&message("Strange")).await, poison);
    // A type is a name, not a pattern, and in its own letters.
    let some = none.on("strange", |_| Box::pin(async { Verdict::Accepted })).unwrap();
    assert_eq!(some.deliver(&message("Strange")).await, poison);
    let rest = some.otherwise(|message| Box::pin(async { verdict(Err(&message.kind)) }));
    assert_eq!(rest.deliver(&message("Strange")).await, Verdict::transient("Strange"));
    assert_eq!(rest.deliver(&message("strange")).await, Verdict::Accepted);
}

#[test]
fn a_type_has_one_handler() {
    let once = Handlers::new().on("A", |_| Box::pin(async { Verdict::Accepted })).unwrap();
    let twice = once.on("A", |_| Box::pin(async { Verdict::Accepted })).unwrap_err();
    assert_eq!(twice, SinkError::HandledTwice { kind: "A".into() });
    assert!(twice.to_string().contains("`A`"));
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_and_goes_no_further() {
    let handlers = Handlers::new()
        .on("at once", |message| match message.attempt {
            2 => panic!("before there is a future"),
            _ => Box::pin(async { Verdict::Accepted }),
        })
        .unwrap()
        .on("later", |message| {
            Box::pin(async move {
                tokio::task::yield_now().await;
                panic!("attempt {}", message.attempt)
            })
        })
        .unwrap()
        .on("odd", |_| Box::pin(async { std::panic::panic_any(7) }))
        .unwrap();
    let told = async |kind: &str| match handlers.deliver(&message(kind)).await {
        Verdict::Transient { reason, retry_after: None } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(told("at once").await, "the handler panicked: before there is a future");
    assert_eq!(told("later").await, "the handler panicked: attempt 2");
    assert_eq!(told("odd").await, "the handler panicked: without a text");
}

async fn lines(messages: &[Message]) -> Vec<String> {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    let sink = Lines::to(near, EventSource::default());
    assert_eq!(sink.deliver_batch(messages).await, vec![Verdict::Accepted; messages.len()]);
    drop(sink);
    let mut text = String::new();
    far.read_to_string(&mut text).await.unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_line_is_an_event_in_json() {
    let mut odd = message("Odd");
    odd.headers.insert("traceparent".into(), "00-aa-bb-01".into());
    for name in ["id", "Tenant-Id", "tenureterm", "data"] {
        odd.headers.insert(name.into(), format!("a row's {name}\n\""));
    }
    (odd.source, odd.term, odd.body) = (None, None, Body::Bytes(vec![0, 255, 10]));
    odd.created_at = StoreTime::from_micros(i64::MAX);
    let written = lines(&[message("OrderPlaced"), odd]).await;
    let events: Vec<Value> = written.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = json!({
        "specversion": "1.0", "id": ID, "source": "tenure", "type": "OrderPlaced", "subject": "orders",
        "time": "2026-11-15T09:30:00.123Z", "datacontenttype": "application/json", "tenuresource": "order-7",
        "tenureseq": "3.1", "tenureattempt": 2, "tenureterm": "9", "tenant": "blue", "data": {"order": 7},
    });
    assert_eq!(events[0], first);
    let others = json!({
        "Tenant-Id": "a row's Tenant-Id\n\"", "data": "a row's data\n\"", "id": "a row's id\n\"",
        "tenureterm": "a row's tenureterm\n\"",
    });
    let second = json!({
        "specversion": "1.0", "id": ID, "source": "tenure", "type": "Odd", "subject": "orders",
        "datacontenttype": "application/octet-stream", "tenureattempt": 2, "tenant": "blue",
        "traceparent": "00-aa-bb-01", "tenureheaders": others.to_string(), "data_base64": "AP8K",
    });
    assert_eq!(events[1], second);
}

#[tokio::test]
async fn json_is_written_as_it_stands_and_on_one_line() {
    let with = |body: &str, content_type: Option<&str>| Message {
        body: Body::Text(body.into()),
        content_type: content_type.map(str::to_owned),
        ..message("A")
    };
    let written = lines(&[
        with("{\n\"z\":1.10,\r\n\"a\":123456789012345678901234567890}", None),
        with("{\"a\":1}", Some("text/plain")),
        with("{no json\n", Some("application/vnd.a+json; charset=utf-8")),
        with("", None),
    ])
    .await;
    assert!(
        written[0].ends_with(r#","data":{ "z":1.10,  "a":123456789012345678901234567890}}"#),
        "{}",
        written[0]
    );
    assert!(written[1].ends_with(r#","data":"{\"a\":1}"}"#), "{}", written[1]);
    assert!(written[2].ends_with(r#","data":"{no json\n"}"#), "{}", written[2]);
    assert!(written[3].ends_with(r#","data":""}"#), "{}", written[3]);
}

/// A writer that takes so many bytes, and then fails until it is told otherwise.
#[derive(Default)]
struct Tap {
    written: Vec<u8>,
    room: Option<usize>,
    flushes: usize,
    writes: usize,
}

#[derive(Clone, Default)]
struct Tapped(Arc<Mutex<Tap>>);

impl AsyncWrite for Tapped {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut tap = self.0.lock().unwrap();
        let room = tap.room.unwrap_or(usize::MAX).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::StorageFull.into()));
        }
        tap.room = tap.room.map(|before| before - room);
        tap.written.extend_from_slice(&bytes[..room]);
        tap.writes += 1;
        Poll::Ready(Ok(room))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().unwrap().flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_batch_is_one_write_and_one_flush_and_a_large_one_is_not_gathered_whole() {
    let tapped = Tapped::default();
    let sink = Lines::to(tapped.clone(), EventSource::default());
    let count = sink.batch_size();
    assert!(count > 1);
    sink.deliver_batch(&vec![message("A"); count]).await;
    let done = |tap: &Tap| (tap.writes, tap.flushes);
    assert_eq!(done(&tapped.0.lock().unwrap()), (1, 1));
    let large = Message { body: Body::Text("x".repeat(200_000)), ..message("A") };
    sink.deliver_batch(&vec![large; 20]).await;
    let tap = tapped.0.lock().unwrap();
    assert!(tap.writes > 5, "{} writes", tap.writes);
    assert_eq!(tap.flushes, 2);
    assert_eq!(tap.written.iter().filter(|b| **b == b'\n').count(), count + 20);
}

#[tokio::test]
async fn after_a_failure_the_first_of_each_source_is_tried_again_and_no_line_is_glued_to_half_a_one() {
    let tapped = Tapped::default();
    tapped.0.lock().unwrap().room = Some(100);
    let sink = Lines::to(tapped.clone(), EventSource::default());
    let of = |source: Option<&str>| Message { source: source.map(str::to_owned), ..message("A") };
    let batch = [of(Some("a")), of(None), of(Some("b")), of(Some("a")), of(None)];
    let verdicts = sink.deliver_batch(&batch).await;
    let failed = verdicts[0].clone();
    assert!(reason(failed.clone()).starts_with("lines cannot be written: "), "{failed:?}");
    assert_eq!(verdicts, [failed.clone(), failed.clone(), failed.clone(), Verdict::Withheld, failed]);

    tapped.0.lock().unwrap().room = None;
    assert_eq!(sink.deliver(&of(None)).await, Verdict::Accepted);
    let written = String::from_utf8(tapped.0.lock().unwrap().written.clone()).unwrap();
    let last = written.lines().last().unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap()["id"], ID, "{written}");
}

#[tokio::test]
async fn a_closed_pipe_is_told_and_burns_no_attempt() {
    let (near, far) = tokio::io::duplex(64);
    drop(far);
    let sink = Lines::to(near, EventSource::default());
    assert_eq!(sink.gone(), None);
    assert_eq!(sink.deliver(&message("A")).await, Verdict::Withheld, "no attempt is burnt");
    assert_eq!(sink.gone().unwrap(), "lines is a closed pipe: whoever read it is gone");
}

fn refused(url: &str) -> SinkError {
    from_url(url, SinkOptions::default()).unwrap_err()
}

#[tokio::test]
async fn a_url_chooses_the_sink_and_what_it_cannot_be_is_said_without_repeating_it() {
    assert_eq!(from_url("stdout:", SinkOptions::default()).unwrap().name(), "stdout");
    let unknown = refused("ftp://u:p4ssw0rd@host/").to_string();
    assert_eq!(
        unknown,
        "unknown scheme `ftp:` in the receiver's URL; known are http:, https:, kafka:, nats: and stdout:"
    );
    assert_eq!(refused("user@host"), SinkError::NoScheme);
    assert_eq!(refused(""), SinkError::NoScheme);
    assert_eq!(refused("p4ss_w0rd:x@host"), SinkError::NoScheme);
    assert_eq!(refused("0p4ssw0rd:x@host"), SinkError::NoScheme);
    assert!(!refused("stdout:p4ssw0rd").to_string().contains("p4ssw0rd"));
}

#[cfg(not(feature = "http"))]
#[test]
fn a_build_without_http_says_so() {
    assert!(refused("https://host/").to_string().contains("feature `http` is off"));
    assert!(refused("HTTP://host/").to_string().contains("no support for http:"));
}

#[cfg(not(feature = "kafka"))]
#[test]
fn a_build_without_kafka_says_so() {
    let refusal = refused("kafka://u:p4ssw0rd@host/t").to_string();
    assert_eq!(refusal, "this build has no support for kafka: (feature `kafka` is off)");
}

#[cfg(not(feature = "nats"))]
#[test]
fn a_build_without_nats_says_so() {
    let refusal = refused("nats://p4ssw0rd@host/t").to_string();
    assert_eq!(refusal, "this build has no support for nats: (feature `nats` is off)");
}

#[test]
fn an_event_source_is_a_uri_reference() {
    assert_eq!(EventSource::default().as_str(), "tenure");
    for good in ["/shop", "https://shop.example/a?b#c", "urn:uuid:1", "a%20b"] {
        assert_eq!(good.parse::<EventSource>().unwrap().to_string(), good);
    }
    for bad in ["", "a b", "a\r\nb", "ä", "<a>", &"a".repeat(501)] {
        assert!(bad.parse::<EventSource>().unwrap_err().to_string().starts_with("event source: "), "{bad}");
    }
}
