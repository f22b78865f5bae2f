//! A small HTTP receiver on loopback: notes the id of each message and answers 204.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::latency::Arrivals;
use crate::output::Failure;

pub(super) struct Receiver {
    address: SocketAddr,
}

impl Receiver {
    pub(super) async fn start(arrivals: Arrivals) -> Result<Self, Failure> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve(stream, arrivals.clone()));
            }
        });
        Ok(Self { address })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }
}

/// One connection, request after request, until it ends or is no HTTP.
async fn serve(stream: TcpStream, arrivals: Arrivals) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut id, mut length, mut line) = (None, 0usize, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                match name.to_ascii_lowercase().as_str() {
                    "ce-id" => id = value.trim().parse().ok(),
                    "content-length" => length = value.trim().parse().ok()?,
                    _ => {}
                }
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        if let Some(id) = id {
            arrivals.note(id);
        }
        stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.ok()?;
    }
}
