//! A small TCP proxy between a contestant and its database: it counts statements, and it can go silent.
//!
//! A cut connection is one on which nothing arrives any more and nobody says so: sockets stay open, bytes are dropped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::output::Failure;

/// A proxy for one contestant. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Proxy {
    address: SocketAddr,
    wire: Arc<Wire>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Wire {
    cut: AtomicBool,
    statements: AtomicU64,
    pings: AtomicU64,
}

impl Proxy {
    pub(super) async fn start(upstream: String) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::Failed(format!("the proxy of the benchmark failed: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let wire = Arc::new(Wire::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, upstream, wire.clone()));
        Ok(Self { address, wire, _tasks: tasks })
    }

    /// The same database, by way of this proxy.
    pub(super) fn url(&self, url: &str) -> Result<String, Failure> {
        let unusable = || Failure::Failed("the database's URL cannot be led through a proxy".into());
        let mut url = url::Url::parse(url).map_err(|_| unusable())?;
        url.set_host(Some("127.0.0.1")).map_err(|_| unusable())?;
        url.set_port(Some(self.address.port())).map_err(|()| unusable())?;
        Ok(url.into())
    }

    /// Drops every byte from now on.
    pub(super) fn cut(&self) {
        self.wire.cut.store(true, Ordering::SeqCst);
    }

    /// Statements other than pings, and pings, since the start.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.wire.statements.load(Ordering::SeqCst), self.wire.pings.load(Ordering::SeqCst))
    }
}

/// Host and port of a Postgres URL that names them.
pub(super) fn upstream(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    url.scheme().starts_with("postgres").then(|| format!("{host}:{}", url.port().unwrap_or(5432)))
}

async fn accept(listener: TcpListener, upstream: String, wire: Arc<Wire>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        // A cut link neither refuses nor answers.
        let (upstream, wire) = (upstream.clone(), wire.clone());
        connections.spawn(async move {
            let Ok(server) = TcpStream::connect(upstream).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (client_read, client_write) = client.into_split();
            let (server_read, server_write) = server.into_split();
            let mut counter = Counter::default();
            let forth = pump(client_read, server_write, &wire, |bytes| counter.eat(bytes, &wire));
            let back = pump(server_read, client_write, &wire, |_| ());
            tokio::join!(forth, back);
        });
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, wire: &Wire, mut see: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if wire.cut.load(Ordering::SeqCst) {
            // Neither side hears of the other again, not even that it is gone.
            std::future::pending::<()>().await;
        }
        see(&buffer[..count]);
        if to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    if wire.cut.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
}

/// Counts statements in the stream from client to server: simple queries and executions of the extended protocol.
#[derive(Default)]
struct Counter {
    unread: Vec<u8>,
    greeted: bool,
    /// The statement that was parsed last, and is executed next, is a ping.
    parsed_ping: bool,
}

impl Counter {
    fn eat(&mut self, bytes: &[u8], wire: &Wire) {
        self.unread.extend_from_slice(bytes);
        loop {
            // The greeting has no type byte.
            let head = usize::from(self.greeted);
            let Some(length) = self.unread.get(head..head + 4) else { return };
            let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
            let Some(message) = self.unread.get(..head + length) else { return };
            match (self.greeted, message.first()) {
                (true, Some(b'P')) => self.parsed_ping = is_ping(message),
                (true, Some(b'Q' | b'E')) if is_ping(message) || self.parsed_ping => {
                    wire.pings.fetch_add(1, Ordering::SeqCst);
                    self.parsed_ping = false;
                }
                (true, Some(b'Q' | b'E')) => {
                    wire.statements.fetch_add(1, Ordering::SeqCst);
                }
                _ => {}
            }
            self.unread.drain(..head + length.max(1));
            self.greeted = true;
        }
    }
}

/// The presence session is pinged with this statement alone.
fn is_ping(message: &[u8]) -> bool {
    let ping = b"select pg_backend_pid()";
    message.windows(ping.len()).any(|window| window.eq_ignore_ascii_case(ping))
}
