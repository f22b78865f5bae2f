//! A small HTTP receiver on loopback: notes each message and answers 204, at once or after a while.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::latency::Arrivals;
use crate::output::Failure;

pub(in crate::bench) struct Receiver {
    address: SocketAddr,
}

/// What becomes of what arrives.
#[derive(Clone)]
enum Desk {
    Noted(Arrivals),
    Counted(Counter, Duration),
}

/// How many came, and when the first and the last did.
#[derive(Clone, Default)]
pub(in crate::bench) struct Counter(Arc<Mutex<Option<(u64, Instant, Instant)>>>);

impl Counter {
    fn count(&self) {
        let now = Instant::now();
        let mut came = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, first, _) = came.unwrap_or((0, now, now));
        *came = Some((count + 1, first, now));
    }

    /// How many came, and within how long.
    pub(in crate::bench) fn came(&self) -> (u64, Duration) {
        let came = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        came.map_or((0, Duration::ZERO), |(count, first, last)| (count, last.duration_since(first)))
    }
}

impl Receiver {
    pub(super) async fn start(arrivals: Arrivals) -> Result<Self, Failure> {
        Self::with(Desk::Noted(arrivals)).await
    }

    /// One that takes so long for each message.
    pub(in crate::bench) async fn slow(counter: Counter, pause: Duration) -> Result<Self, Failure> {
        Self::with(Desk::Counted(counter, pause)).await
    }

    async fn with(desk: Desk) -> Result<Self, Failure> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve(stream, desk.clone()));
            }
        });
        Ok(Self { address })
    }

    pub(in crate::bench) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }
}

/// One connection, request after request, until it ends or is no HTTP.
async fn serve(stream: TcpStream, desk: Desk) -> Option<()> {
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
        match &desk {
            Desk::Noted(arrivals) => id.into_iter().for_each(|id| arrivals.note(id)),
            Desk::Counted(counter, pause) => {
                tokio::time::sleep(*pause).await;
                counter.count();
            }
        }
        stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.ok()?;
    }
}
