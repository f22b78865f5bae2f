//! What the HTTP sink makes of a receiver's answer, or of none.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure::core::contract::Sink as _;
use tenure::core::outbox::Verdict;
use tenure::sink::{Http, HttpOptions};
use tokio::net::TcpListener;

use crate::sink::message;
use crate::sink_server::{Answer, Receiver, say};

/// Far above what anything here takes, and far below what a hang would.
const SOON: Duration = Duration::from_secs(10);

fn sink(receiver: &Receiver) -> Http {
    Http::new(&receiver.url(), Default::default(), HttpOptions::default()).unwrap()
}

fn hurried(receiver: &Receiver) -> Http {
    let options = HttpOptions { timeout: Duration::from_millis(300), ..HttpOptions::default() };
    Http::new(&receiver.url(), Default::default(), options).unwrap()
}

/// The reason of a transient failure without a wish for when to come back.
fn transient(verdict: Verdict) -> String {
    match verdict {
        Verdict::Transient { reason, retry_after: None } => reason,
        other => panic!("{other:?} is not transient"),
    }
}

async fn answered(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Verdict {
    let receiver = Receiver::start(move |_| answer()).await;
    sink(&receiver).deliver(&message("A")).await
}

#[tokio::test]
async fn every_status_has_its_verdict() {
    // The message says which status it is to be answered with.
    let receiver =
        Receiver::start(|asked| say(asked.header("ce-type").unwrap().parse().unwrap(), &[], "because")).await;
    let sink = sink(&receiver);
    for status in 200..=999 {
        let verdict = sink.deliver(&message(&status.to_string())).await;
        let because = format!("HTTP {status}: because");
        match status {
            200..=299 => assert_eq!(verdict, Verdict::Accepted, "{status}"),
            300..=399 => {
                assert!(
                    transient(verdict).starts_with(&format!("HTTP {status}: redirects are not")),
                    "{status}"
                );
            }
            408 | 425 | 429 | 500.. => assert_eq!(transient(verdict), because),
            _ => assert_eq!(verdict, Verdict::rejected(because)),
        }
    }
    assert_eq!(receiver.connections(), 1, "no answer costs a connection");
}

#[tokio::test]
async fn informational_answers_are_waited_through_and_a_switch_of_protocols_is_no_acceptance() {
    let early = || {
        Answer::Say(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 Ok\r\ncontent-length: 0\r\n\r\n".to_vec())
    };
    assert_eq!(answered(early).await, Verdict::Accepted);
    let switch =
        || Answer::Hang(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n".to_vec());
    let within = tokio::time::timeout(SOON, answered(switch)).await.expect("an end");
    assert!(transient(within).contains("101"), "101 is neither yes nor no");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_its_host_is_named_without_the_rest() {
    let trap = Receiver::start(|_| say(200, &[], "")).await;
    let location = format!("location: http://me:p4ss@127.0.0.1:{}/x?token=t0ken#frag", trap.port);
    for status in [301, 302, 303, 307, 308] {
        let location = location.clone();
        let receiver = Receiver::start(move |_| say(status, &[&location], "go away")).await;
        let reason = transient(sink(&receiver).deliver(&message("A")).await);
        let host = format!("(to http://127.0.0.1:{})", trap.port);
        assert!(reason.contains(&status.to_string()) && reason.contains(&host), "{reason}");
        assert!(!["p4ss", "t0ken", "/x", "frag"].iter().any(|part| reason.contains(part)), "{reason}");
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn a_hang_before_or_within_the_headers_ends_at_the_deadline() {
    let began = Instant::now();
    let head = b"HTTP/1.1 200 OK\r\nx: y\r\n";
    for start in [&b""[..], &head[..9], &head[..]] {
        let receiver = Receiver::start(move |_| Answer::Hang(start.to_vec())).await;
        let reason = transient(hurried(&receiver).deliver(&message("A")).await);
        assert!(reason.ends_with("no answer within 300ms"), "{reason}");
        // The connection is not kept for the next one.
        receiver.wait_over(1).await;
    }
    let drip =
        |_: &_| Answer::Drip(b"HTTP/1.1 200 OK\r\nx: yyyyyyyyyyyyyyyyy".to_vec(), Duration::from_millis(20));
    let receiver = Receiver::start(drip).await;
    assert!(transient(hurried(&receiver).deliver(&message("A")).await).contains("no answer within"));
    receiver.wait_over(1).await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[tokio::test]
async fn once_the_status_is_there_a_body_that_hangs_or_breaks_off_changes_nothing() {
    let began = Instant::now();
    let half = |status: u16| format!("HTTP/1.1 {status} X\r\ncontent-length: 10\r\n\r\nhalf").into_bytes();
    assert_eq!(answered(move || Answer::Hang(half(200))).await, Verdict::Accepted);
    assert_eq!(answered(move || Answer::Close(half(204 - 3))).await, Verdict::Accepted);
    assert_eq!(transient(answered(move || Answer::Hang(half(503))).await), "HTTP 503: half");
    assert_eq!(transient(answered(move || Answer::Close(half(503))).await), "HTTP 503: half");
    assert_eq!(answered(move || Answer::Close(half(400))).await, Verdict::rejected("HTTP 400: half"));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_connection_that_ends_before_the_headers_do_is_no_answer() {
    for start in [&b""[..], b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\ncontent-len"] {
        let reason = transient(answered(move || Answer::Close(start.to_vec())).await);
        assert!(reason.starts_with("http://127.0.0.1:"), "{reason}");
    }
}

#[tokio::test]
async fn a_gigabyte_is_not_read_to_its_end() {
    let heads = ["content-length: 1073741824", "x-until: the end", "transfer-encoding: chunked"];
    for (head, status) in heads.into_iter().flat_map(|head| [(head, 200), (head, 500), (head, 400)]) {
        let mut start = format!("HTTP/1.1 {status} X\r\n{head}\r\n\r\n");
        if head.starts_with("transfer") {
            start += "40000000\r\n";
        }
        let receiver = Receiver::start(move |_| Answer::Endless(start.clone().into_bytes())).await;
        let verdict = sink(&receiver).deliver(&message("A")).await;
        let shown = format!("HTTP {status}: {}", "x".repeat(500));
        match status {
            200 => assert_eq!(verdict, Verdict::Accepted),
            500 => assert_eq!(transient(verdict), shown),
            _ => assert_eq!(verdict, Verdict::rejected(shown)),
        }
        receiver.wait_over(1).await;
        // What fits into the buffers of two sockets.
        let sent = receiver.sent.load(Ordering::SeqCst);
        assert!(sent < 32 * 1024 * 1024, "{sent} bytes were taken");
    }
}

#[tokio::test]
async fn headers_without_end_are_cut_off() {
    let receiver = Receiver::start(|_| Answer::Endless(b"HTTP/1.1 200 OK\r\nx: ".to_vec())).await;
    transient(tokio::time::timeout(SOON, sink(&receiver).deliver(&message("A"))).await.expect("an end"));
    receiver.wait_over(1).await;
    let sent = receiver.sent.load(Ordering::SeqCst);
    assert!(sent < 32 * 1024 * 1024, "{sent} bytes were taken");
}

#[tokio::test]
async fn what_is_no_http_is_no_answer() {
    let rubbish: [&[u8]; 5] = [
        b"220 mail.example ESMTP\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00",
        b"HTTP/1.1 OK 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ];
    for bytes in rubbish {
        let reason = transient(answered(move || Answer::Close(bytes.to_vec())).await);
        assert!(reason.starts_with("http://127.0.0.1:"), "{reason}");
    }
}

#[tokio::test]
async fn nobody_there_is_transient() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let gone =
        Http::new(&format!("http://127.0.0.1:{port}/"), Default::default(), HttpOptions::default()).unwrap();
    let reason = transient(gone.deliver(&message("A")).await);
    assert!(reason.contains("refused"), "{reason}");
    let unknown = "http://tenure-test.invalid/";
    let unknown = Http::new(unknown, Default::default(), HttpOptions::default()).unwrap();
    let reason = transient(unknown.deliver(&message("A")).await);
    assert!(reason.starts_with("http://tenure-test.invalid: "), "{reason}");
}

#[tokio::test]
async fn retry_after_is_passed_on_and_nonsense_is_ignored() {
    let asked = async |status: u16, header: &'static str| {
        let receiver = Receiver::start(move |_| say(status, &[header], "")).await;
        match sink(&receiver).deliver(&message("A")).await {
            Verdict::Transient { retry_after, .. } => retry_after,
            other => panic!("{other:?}"),
        }
    };
    let seconds = |count| Some(Duration::from_secs(count));
    for status in [408, 425, 429, 500, 503] {
        assert_eq!(asked(status, "retry-after: 7").await, seconds(7));
    }
    assert_eq!(asked(503, "Retry-After: 315360000").await, seconds(315_360_000), "the relay cuts it");
    assert_eq!(asked(503, "Retry-After: 99999999999999999999").await, Some(Duration::MAX));
    let far = asked(503, "Retry-After: Tue, 31 Dec 2199 23:59:59 GMT").await.unwrap();
    assert!(far > Duration::from_secs(100 * 365 * 24 * 60 * 60), "{far:?}");
    for nothing in [
        "retry-after: Sun, 06 Nov 1994 08:49:37 GMT",
        "retry-after: 0",
        "retry-after: -1",
        "retry-after: soon",
        "retry-after: \u{e4}",
        "retry-after:",
    ] {
        assert_eq!(asked(503, nothing).await, None, "{nothing}");
    }
    let receiver = Receiver::start(|_| say(400, &["retry-after: 7"], "")).await;
    assert_eq!(sink(&receiver).deliver(&message("A")).await, Verdict::rejected("HTTP 400"));
}

#[tokio::test]
async fn a_connection_that_takes_too_long_is_given_up() {
    // It takes connections and says nothing, which is how a TLS handshake hangs.
    let receiver = Receiver::start(|_| say(200, &[], "")).await;
    let options = HttpOptions { connect_timeout: Duration::from_millis(200), ..HttpOptions::default() };
    let url = format!("https://127.0.0.1:{}/", receiver.port);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("https://{}/", silent.local_addr().unwrap());
    // A system without trusted certificates needs one.
    let pem = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap().cert.pem();
    let options = options.root_certificate(pem);
    let began = Instant::now();
    let sink = Http::new(&silent_url, Default::default(), options.clone()).unwrap();
    let reason = transient(sink.deliver(&message("A")).await);
    assert!(reason.ends_with("no connection within 200ms"), "{reason}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    // One that answers, but not in TLS.
    let plain = Http::new(&url, Default::default(), options).unwrap();
    transient(plain.deliver(&message("A")).await);
}
