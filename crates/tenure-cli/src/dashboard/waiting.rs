//! What is said while the database is away: that it is, and nothing else.
//!
//! Nobody is asked who he is here, so nothing is told that could help a stranger: the reason stands in the log of this
//! process. A probe of liveness is told that the process lives.

use std::convert::Infallible;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The largest head that is read.
const HEAD_MAX: usize = 8 * 1024;
/// How long a client may take to send it, and to take the answer.
const WITHIN: Duration = Duration::from_secs(5);
/// So many are answered at once.
const AT_ONCE: usize = 32;

const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">\
                    <title>Tenure: the database is away</title><h1>The database is away</h1>\
                    <p>The dashboard waits for it, and this page asks again every five seconds. Why it cannot be \
                    reached stands in the log of this process.</p></html>\n";

/// Answers until it is dropped. Connections are bounded in number, size and time.
pub(super) async fn serve(listener: &TcpListener) -> Infallible {
    let places = std::sync::Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return std::future::pending().await };
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(WITHIN, answer(stream)).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    while head.len() < HEAD_MAX && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut chunk).await? {
            0 => return Ok(()),
            read => head.extend_from_slice(&chunk[..read]),
        }
    }
    stream.write_all(reply(&head).as_bytes()).await?;
    stream.shutdown().await
}

fn reply(head: &[u8]) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let path = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let (status, kind, body) = match path {
        b"/health/live" => ("200 OK", "application/json", "{\"status\":\"up\"}"),
        b"/health/ready" => ("503 Service Unavailable", "application/json", "{\"status\":\"down\"}"),
        _ => ("503 Service Unavailable", "text/html; charset=utf-8", PAGE),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\ncontent-security-policy: default-src 'none'; frame-ancestors 'none'\r\n\
         referrer-policy: no-referrer\r\nretry-after: 5\r\nconnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_learns_that_the_process_lives_and_everyone_that_the_database_is_away() {
        let says = |head: &str| reply(head.as_bytes());
        assert!(says("GET /health/live HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
        assert!(says("GET /health/ready HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503"));
        let page = says("GET /_tenure?x=<script> HTTP/1.1\r\nHost: evil\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 503") && page.contains("The database is away"));
        assert!(!page.contains("script>") && !page.contains("evil"), "nothing of the request comes back");
        assert!(says("").starts_with("HTTP/1.1 503"));
    }
}
