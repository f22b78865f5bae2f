//! The server of its own, over real connections.

use std::sync::Arc;

use tenure_core::contract::OperatorStores;
use tenure_dashboard::{Auth, Dashboard, Extra, Hosts, MetricsFor, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::house::{self, Who};
use crate::watched::Watched;

pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) stop: tokio::sync::oneshot::Sender<()>,
    pub(crate) task: tokio::task::JoinHandle<std::io::Result<()>>,
    store: Arc<Watched>,
}

pub(crate) async fn start(auth: Auth, metrics_for: MetricsFor) -> Server {
    let store = house::filled("something").await;
    let stores = OperatorStores::of(Arc::clone(&store), Default::default());
    let dashboard = Dashboard::new(stores, auth, Hosts::loopback());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let extra = Extra { metrics: Some(Arc::new(|| "tenure_outbox_pending 1\n".to_owned())), metrics_for };
    let stopped = async move { drop(stopped.await) };
    let task = tokio::spawn(serve(listener, dashboard, extra, stopped));
    Server { port, stop, task, store }
}

impl Server {
    pub(crate) async fn send(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        // The server may have answered and closed before all was sent.
        let _ = stream.write_all(text.replace("PORT", &self.port.to_string()).as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) async fn get(&self, path: &str, more: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost:PORT\r\nconnection: close\r\n{more}\r\n"))
            .await
    }
}

pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn probes_are_told_up_or_down_and_nothing_else() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Loopback).await;
    let root = server.get("/", "").await;
    assert!(
        root.starts_with("HTTP/1.1 303") && root.to_lowercase().contains("location: /_tenure\r\n"),
        "{root}"
    );
    for path in ["/health/live", "/health/ready"] {
        let told = server
            .send(&format!("GET {path} HTTP/1.1\r\nhost: 10.1.2.3:80\r\nconnection: close\r\n\r\n"))
            .await;
        assert_eq!(status(&told), "200", "{told}");
        assert!(told.ends_with("\r\n\r\n{\"status\":\"up\"}"), "{told}");
        assert!(told.contains("no-store"), "{told}");
        let bearer = format!("authorization: Bearer {}\r\n", Who::View.token().unwrap());
        assert!(server.get(path, &bearer).await.contains("report"), "{path}");
        let wrong = format!("authorization: Bearer {}\r\n", Who::WrongToken.token().unwrap());
        assert!(server.get(path, &wrong).await.ends_with("{\"status\":\"up\"}"));
    }
    server.store.go_away(true);
    assert_eq!(status(&server.get("/health/live", "").await), "200");
    let mut ready = server.get("/health/ready", "").await;
    while status(&ready) != "503" {
        // passes time: the last answer of the store is taken for two seconds
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        ready = server.get("/health/ready", "").await;
    }
    assert!(ready.ends_with("{\"status\":\"down\"}"), "{ready}");
    assert_eq!(status(&server.send("POST /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await), "405");
}

#[tokio::test]
async fn however_many_probes_there_are_the_store_is_asked_once() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Loopback).await;
    let before = server.store.begun();
    let told = futures_util::future::join_all((0..50).map(|_| server.get("/health/ready", ""))).await;
    assert!(told.iter().all(|told| status(told) == "200"), "{told:?}");
    assert_eq!(server.store.begun() - before, 1);
    server.get("/health/ready", "").await;
    assert_eq!(server.store.begun() - before, 1, "an answer is good for a while");
}

#[tokio::test]
async fn probes_that_do_not_wait_for_their_answer_do_not_ask_again_and_again() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Loopback).await;
    let before = server.store.begun();
    server.store.hang(true);
    for _ in 0..20 {
        let probe = server.get("/health/ready", "");
        // passes time: a probe that gives up soon
        let _ = tokio::time::timeout(std::time::Duration::from_millis(20), probe).await;
    }
    assert_eq!(server.store.begun() - before, 1);
    server.store.hang(false);
    assert_eq!(status(&server.get("/health/ready", "").await), "200");
}

#[tokio::test]
async fn metrics_are_closed_to_strangers() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Loopback).await;
    let told = server.get("/metrics", "").await;
    assert!(
        told.contains("text/plain; version=0.0.4") && told.ends_with("tenure_outbox_pending 1\n"),
        "{told}"
    );
    for (host, more, code) in
        [("evil.test", "", "421"), ("localhost", "x-forwarded-for: 10.0.0.1\r\n", "401")]
    {
        let told = server
            .send(&format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n"))
            .await;
        assert_eq!(status(&told), code, "{told}");
        assert!(!told.contains("pending"));
    }
    let closed = start(Auth::tokens(house::tokens()), MetricsFor::Closed).await;
    assert_eq!(status(&closed.get("/metrics", "").await), "401");
    let bearer = format!("authorization: Bearer {}\r\n", Who::View.token().unwrap());
    assert_eq!(status(&closed.get("/metrics", &bearer).await), "200");
    let open = start(Auth::tokens(house::tokens()), MetricsFor::Open).await;
    assert_eq!(
        status(
            &open.send("GET /metrics HTTP/1.1\r\nhost: prometheus.test\r\nconnection: close\r\n\r\n").await
        ),
        "200"
    );
}

#[tokio::test]
async fn requests_that_are_not_as_they_should_be_are_refused() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    assert_eq!(status(&server.get("/_tenure", "").await), "200");
    assert_eq!(status(&server.get("/_tenure/", "").await), "200");
    assert_eq!(status(&server.get("/_tenure/api/v1/outbox/stats", "").await), "200");
    for path in
        ["/_tenurex", "/outbox", "/_tenure/none", "/_tenure//", "/_tenure/../health", "/_tenure/%2e%2e/x"]
    {
        assert_eq!(status(&server.get(path, "").await), "404", "{path}");
    }
    let absolute = server
        .send("GET http://evil.test/_tenure HTTP/1.1\r\nhost: localhost:PORT\r\nconnection: close\r\n\r\n")
        .await;
    assert_eq!(status(&absolute), "421", "{absolute}");
    let absolute = server
        .send(
            "GET http://localhost:PORT/_tenure HTTP/1.1\r\nhost: localhost:PORT\r\nconnection: close\r\n\r\n",
        )
        .await;
    assert_eq!(status(&absolute), "200", "{absolute}");
    let twice = server
        .send("GET /_tenure HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await;
    assert!(matches!(status(&twice), "421" | "400"), "{twice}");
    let none = server.send("GET /_tenure HTTP/1.0\r\n\r\n").await;
    assert_eq!(status(&none), "421", "{none}");
    let long = server.get("/_tenure", &format!("x-long: {}\r\n", "x".repeat(20_000))).await;
    assert_eq!(status(&long), "431", "{long}");
}

#[tokio::test]
async fn a_server_that_stops_lets_requests_end_and_takes_no_more() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    server.store.hang(true);
    let (port, store) = (server.port, Arc::clone(&server.store));
    let slow = tokio::spawn(async move {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let ask = format!(
            "GET /_tenure/api/v1/outbox/stats HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(ask.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    });
    while server.store.under_way() == 0 {
        tokio::task::yield_now().await;
    }
    server.stop.send(()).unwrap();
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
    store.hang(false);
    assert_eq!(status(&slow.await.unwrap()), "200");
    assert!(server.task.await.unwrap().is_ok());
}

/// A scraper that is not let in is told what to change: the name, the token, or that there are none.
#[tokio::test]
async fn who_may_not_look_is_told_which_of_the_reasons_it_is() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Loopback).await;
    let bearer = |who: Who| format!("authorization: Bearer {}\r\n", who.token().unwrap());
    let ask = |path: &str, host: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n")
    };
    let view = bearer(Who::View);
    let told = server.send(&ask("/metrics", "relay-1.internal:7070", &view)).await;
    assert!(status(&told) == "421" && told.contains("--host"), "{told}");
    let told = server.send(&ask("/health/ready", "relay-1.internal:7070", &view)).await;
    assert!(status(&told) == "200" && told.contains("no_report") && told.contains("--host"), "{told}");
    let proxied = "x-forwarded-for: 10.0.0.1\r\n";
    let told = server.get("/metrics", proxied).await;
    assert!(status(&told) == "401" && told.contains("a token is missing"), "{told}");
    let told = server.get("/metrics", &format!("{proxied}{}", bearer(Who::WrongToken))).await;
    assert!(status(&told) == "401" && !told.contains("missing"), "{told}");
    let nobody = start(Auth::insecure_loopback_only(), MetricsFor::Loopback).await;
    for (path, key) in [("/metrics", "no metrics"), ("/health/ready", "no_report")] {
        let told = nobody.send(&ask(path, "relay-1.internal:7070", &view)).await;
        assert!(told.contains(key) && told.contains("no tokens are configured"), "{told}");
    }
}
