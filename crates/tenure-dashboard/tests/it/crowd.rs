//! Many connections, and those that do not get on: over real sockets.

use std::time::Duration;

use tenure_dashboard::{Auth, Extra, MetricsFor, WaitsFor, waiting};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::house;
use crate::server::{Server, start, status};

/// In which a probe is answered: those of Kubernetes wait for one second, if nothing else is said.
const IN_TIME: Duration = Duration::from_secs(1);

async fn idle(port: u16, many: usize) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for _ in 0..many {
        all.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    }
    all
}

async fn quick(server: &Server, path: &str) -> String {
    let began = Instant::now();
    let told = server.get(path, "").await;
    assert!(began.elapsed() < IN_TIME, "{path} took {:?}", began.elapsed());
    told
}

/// Until the other end closes; what it said before.
async fn hear(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard).await;
    String::from_utf8_lossy(&heard).into_owned()
}

#[tokio::test]
async fn probes_are_answered_beside_five_hundred_idle_connections() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Loopback).await;
    let crowd = idle(server.port, 500).await;
    for _ in 0..3 {
        for path in ["/health/live", "/health/ready", "/metrics"] {
            assert_eq!(status(&quick(&server, path).await), "200", "{path}");
        }
    }
    let told = quick(&server, "/_tenure").await;
    assert_eq!(status(&told), "503", "{told}");
    assert!(told.contains("too many connections") && told.contains("retry-after: 5"), "{told}");
    drop(crowd);
    while status(&server.get("/_tenure/login", "").await) != "200" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn one_address_leaves_places_for_others() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    let _crowd = idle(server.port, 700).await;
    assert_eq!(status(&quick(&server, "/_tenure").await), "503");
    let other = TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = other.connect(([127, 0, 0, 1], server.port).into()).await.unwrap();
    let ask =
        format!("GET /_tenure HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\n\r\n", server.port);
    other.write_all(ask.as_bytes()).await.unwrap();
    let told = hear(&mut other).await;
    assert_eq!(status(&told), "200", "{told}");
}

#[tokio::test]
async fn probes_are_answered_while_others_connect_without_end() {
    let server = start(Auth::tokens(house::tokens()), MetricsFor::Closed).await;
    let crowd = idle(server.port, 600).await;
    let port = server.port;
    let flood = tokio::spawn(async move {
        let mut newest = std::collections::VecDeque::new();
        loop {
            newest.push_back(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
            if newest.len() > 300 {
                newest.pop_front();
            }
        }
    });
    for _ in 0..10 {
        assert_eq!(status(&quick(&server, "/health/live").await), "200");
    }
    flood.abort();
    drop(crowd);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_end_and_one_that_comes_by_drops_are_cut() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    for drops in [false, true] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
        let began = Instant::now();
        stream.write_all(b"GET /_tenure HTTP/1.1\r\nhost: loc").await.unwrap();
        while drops && stream.write_all(b"a").await.is_ok() {
            // passes time: it comes by drops
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(began.elapsed() < Duration::from_secs(30), "it is still heard");
        }
        let heard = hear(&mut stream).await;
        assert!(!heard.contains("200 OK"), "{heard}");
        let after = began.elapsed().as_secs();
        assert!((9..15).contains(&after), "cut after {after} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_idle_after_its_answer_is_closed() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let ask = format!("GET /_tenure/login HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", server.port);
    stream.write_all(ask.as_bytes()).await.unwrap();
    let began = Instant::now();
    let heard = hear(&mut stream).await;
    assert!(heard.starts_with("HTTP/1.1 "), "{heard}");
    let after = began.elapsed().as_secs();
    assert!((9..15).contains(&after), "closed after {after} s");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_reading_is_cut() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(([127, 0, 0, 1], server.port).into()).await.unwrap();
    let ask = format!("GET /_tenure HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", server.port);
    let (began, mut asked) = (Instant::now(), 0_u32);
    // It asks and never reads. What the server answers fills what the network holds; what it does not hear fills the rest.
    let asks = async {
        while stream.write_all(ask.as_bytes()).await.is_ok() {
            asked += 1;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), asks).await.expect("it is cut");
    let after = began.elapsed().as_secs();
    assert!((14..40).contains(&after), "cut after {after} s and {asked} requests");
    assert_eq!(status(&server.get("/_tenure", "").await), "200");
}

#[tokio::test]
async fn live_views_end_when_the_server_stops() {
    let server = start(Auth::insecure_loopback_only(), MetricsFor::Closed).await;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let ask = format!("GET /_tenure/live HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", server.port);
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut heard = String::new();
    while !heard.contains("event: snapshot") {
        let mut part = [0; 4_096];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    let began = Instant::now();
    server.stop.send(()).unwrap();
    assert!(hear(&mut stream).await.ends_with("0\r\n\r\n"), "the stream has its end");
    assert!(server.task.await.unwrap().is_ok());
    assert!(began.elapsed() < IN_TIME, "{:?}", began.elapsed());
}

#[tokio::test]
async fn probes_are_answered_while_the_database_is_away_and_many_are_idle() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (_waits, waits_for) = tokio::sync::watch::channel(WaitsFor::default());
    tokio::spawn(async move { waiting(&listener, &waits_for, &Extra::default()).await });
    let crowd = idle(port, 200).await;
    let began = Instant::now();
    let mut probe = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    probe.write_all(b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert_eq!(status(&hear(&mut probe).await), "200");
    assert!(began.elapsed() < IN_TIME, "{:?}", began.elapsed());
    drop(crowd);
}
