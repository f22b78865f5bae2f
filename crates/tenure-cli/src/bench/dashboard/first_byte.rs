//! How long it takes until the first byte of an answer is there.

use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::asks::Ask;
use crate::output::Failure;

/// No page is longer.
const ANSWER_MAX_BYTES: u64 = 32 * 1024 * 1024;

/// What came.
pub(super) struct Answer {
    /// From the request to the first byte.
    pub(super) micros: u64,
    pub(super) status: u16,
}

/// Asks over a connection of its own, as a browser does that comes anew, and reads the answer to its end.
pub(super) async fn ask(address: SocketAddr, mount: &str, token: &str, ask: &Ask) -> Result<Answer, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("{} {}: {error}", ask.method, ask.path));
    let request = request(address, mount, token, ask);
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    let began = Instant::now();
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut first = [0; 1024];
    let mut read = stream.read(&mut first).await.map_err(failed)?;
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    while read < "HTTP/1.1 200".len() {
        match stream.read(&mut first[read..]).await.map_err(failed)? {
            0 => break,
            more => read += more,
        }
    }
    let status = first.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let status = status.ok_or_else(|| Failure::Failed(format!("{} {}: no answer", ask.method, ask.path)))?;
    // What is live has no end.
    if ask.path != "/live" {
        tokio::io::copy(&mut stream.take(ANSWER_MAX_BYTES), &mut tokio::io::sink()).await.map_err(failed)?;
    }
    Ok(Answer { micros, status })
}

fn request(address: SocketAddr, mount: &str, token: &str, ask: &Ask) -> String {
    let Ask { method, path, query, .. } = ask;
    let path = if *path == "/" { "" } else { path };
    let common = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n");
    match (*method, query.as_str()) {
        ("POST", body) => format!(
            "POST {mount}{path} HTTP/1.1\r\n{common}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
        (_, "") => format!("GET {mount}{path} HTTP/1.1\r\n{common}\r\n"),
        (_, query) => format!("GET {mount}{path}?{query} HTTP/1.1\r\n{common}\r\n"),
    }
}
