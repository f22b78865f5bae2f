//! The HTTP sink over TLS.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::CertifiedKey;
use tenure::core::contract::Sink as _;
use tenure::core::outbox::Verdict;
use tenure::sink::{Http, HttpOptions};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::sink::message;
use crate::sink_server::{Receiver, say};

/// A server's side of TLS with a certificate of its own for `localhost`, and that certificate in PEM.
fn acceptor(protocols: &[&str]) -> (TlsAcceptor, String) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), cert.pem())
}

fn sink(host: &str, port: u16, pem: &str) -> Http {
    let options = HttpOptions::default().root_certificate(pem);
    Http::new(&format!("https://{host}:{port}/in"), Default::default(), options).unwrap()
}

fn refusal(verdict: Verdict) -> String {
    match verdict {
        Verdict::Transient { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_certificate_is_trusted_only_if_its_root_is_given_and_its_name_is_right() {
    let (tls, pem) = acceptor(&[]);
    let receiver = Receiver::with_tls(Some(tls), |_| say(200, &[], "ok")).await;
    let (_, other) = acceptor(&[]);
    let reason = refusal(sink("localhost", receiver.port, &other).deliver(&message("A")).await);
    assert!(reason.contains("certificate"), "{reason}");
    let reason = refusal(sink("127.0.0.1", receiver.port, &pem).deliver(&message("A")).await);
    assert!(reason.contains("certificate"), "{reason}");
    assert!(receiver.asked.lock().unwrap().is_empty(), "nothing was sent to a stranger");

    let trusted = sink("localhost", receiver.port, &pem);
    let before = receiver.connections();
    for _ in 0..10 {
        assert_eq!(trusted.deliver(&message("A")).await, Verdict::Accepted);
    }
    assert_eq!(receiver.connections(), before + 1);
    assert_eq!(receiver.asked.lock().unwrap().len(), 10);
}

#[test]
fn a_root_that_is_no_certificate_is_refused() {
    let with = |pem: &str| {
        let options = HttpOptions::default().root_certificate(pem);
        Http::new("https://localhost/", Default::default(), options).unwrap_err().to_string()
    };
    assert_eq!(with("nothing"), "http root certificates: one holds no certificate in PEM");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(with(broken).starts_with("http root certificates: "), "{}", with(broken));
}

#[tokio::test]
async fn a_receiver_that_offers_http2_gets_it_over_one_connection() {
    let (tls, pem) = acceptor(&["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (ours, theirs) = (connections.clone(), requests.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            ours.fetch_add(1, Ordering::SeqCst);
            let Ok(stream) = tls.accept(stream).await else { continue };
            let requests = theirs.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let requests = requests.clone();
                async move {
                    requests.fetch_add(1, Ordering::SeqCst);
                    let right = request.version() == Version::HTTP_2 && request.headers()["ce-type"] == "A";
                    let body = request.into_body().collect().await.map(|body| body.to_bytes());
                    let right = right && body.is_ok_and(|body| body == r#"{"order":7}"#);
                    let mut response = Response::new(Full::new(Bytes::from_static(b"done")));
                    *response.status_mut() = if right { 202 } else { 400 }.try_into().unwrap();
                    Ok::<_, Infallible>(response)
                }
            });
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), answer));
        }
    });
    let sink = Arc::new(sink("localhost", port, &pem));
    assert_eq!(sink.deliver(&message("A")).await, Verdict::Accepted);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let sink = sink.clone();
        tasks.spawn(async move { sink.deliver(&message("A")).await });
    }
    assert_eq!(tasks.join_all().await, vec![Verdict::Accepted; 50]);
    assert_eq!(requests.load(Ordering::SeqCst), 51);
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
