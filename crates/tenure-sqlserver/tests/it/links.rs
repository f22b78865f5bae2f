//! Servers that are none: an error comes in time, and in words, and without a secret.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_sqlserver::{SqlServerOptions, SqlServerStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// How long connecting may take in these tests.
const LIMIT: Duration = Duration::from_millis(700);

async fn refusal(port: u16, options: &str) -> StoreError {
    let url = format!("sqlserver://sa:c4nary@127.0.0.1:{port}/app{options}");
    let mut options = SqlServerOptions::from_url(&url).unwrap();
    options.connect_timeout = LIMIT;
    let begun = Instant::now();
    let error = SqlServerStore::connect(options).await.unwrap_err();
    assert!(begun.elapsed() < LIMIT * 3, "{:?}: {error}", begun.elapsed());
    let words = format!("{error} {error:?}");
    assert!(!words.contains("c4nary"), "{words}");
    assert!(words.contains(&format!("sqlserver://127.0.0.1:{port}/app")), "{words}");
    error
}

#[tokio::test]
async fn a_refused_port_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = refusal(port, "").await;
    assert!(
        matches!(&error, StoreError::Unreachable { message, .. } if message.contains("refused")),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for options in ["", "?encrypt=true", "?encrypt=login&trust_server_certificate=true"] {
        let error = refusal(port, options).await;
        assert!(matches!(error, StoreError::Unreachable { .. }), "{options}: {error}");
    }
    drop(listener);
}

#[tokio::test]
async fn a_server_that_speaks_another_language_is_told() {
    for rubbish in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &[0xff; 4096], &[0; 64]] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut said = [0; 512];
            let _ = stream.read(&mut said).await;
            let _ = stream.write_all(rubbish).await;
            // Reads on until the client has had enough.
            while stream.read(&mut said).await.is_ok_and(|count| count > 0) {}
        });
        let error = refusal(port, "").await;
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
        server.await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move { drop(listener.accept().await.unwrap()) });
    let error = refusal(port, "").await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    server.await.unwrap();
}

#[test]
fn outside_of_a_runtime_it_says_so() {
    let options = SqlServerOptions::from_url("sqlserver://sa@127.0.0.1:1/app").unwrap();
    let error = futures_util::FutureExt::now_or_never(SqlServerStore::connect(options)).unwrap().unwrap_err();
    assert!(error.to_string().contains("outside of a tokio runtime"), "{error}");
}
