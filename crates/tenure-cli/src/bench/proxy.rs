//! A small TCP proxy between a contestant and its database: it counts statements, and it can go silent.
//!
//! A cut connection is one on which nothing arrives any more and nobody says so: sockets stay open, bytes are dropped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::wire::{Asked, Protocol};
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
    asked: Asked,
}

impl Proxy {
    pub(super) async fn start(upstream: Upstream) -> Result<Self, Failure> {
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

    /// The same without encryption unless the URL asks for it: what is encrypted cannot be counted. A server of MySQL takes
    /// a password that way as long as it remembers it, from an earlier connection.
    pub(super) fn plain_url(&self, url: &str) -> Result<String, Failure> {
        let url = self.url(url)?;
        let asks = url.contains("ssl-mode=") || url.contains("sslmode=");
        let more = if url.contains('?') { '&' } else { '?' };
        let mysql = crate::mysql::is_named_by(&url);
        Ok(if mysql && !asks { format!("{url}{more}ssl-mode=DISABLED") } else { url })
    }

    /// Drops every byte from now on.
    pub(super) fn cut(&self) {
        self.wire.cut.store(true, Ordering::SeqCst);
    }

    /// Statements other than pings, and pings, since the start.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.wire.asked.counts()
    }
}

/// Where a proxy leads, and what is spoken there.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    address: String,
    protocol: Protocol,
}

impl Upstream {
    /// Of a URL that names a server by its host.
    pub(super) fn of(url: &str) -> Option<Self> {
        let url = url::Url::parse(url).ok()?;
        let host = url.host_str().filter(|host| !host.is_empty())?;
        let (protocol, port) = match url.scheme() {
            "postgres" | "postgresql" => (Protocol::Postgres, 5432),
            "mysql" | "mariadb" => (Protocol::MySql, 3306),
            _ => return None,
        };
        Some(Self { address: format!("{host}:{}", url.port().unwrap_or(port)), protocol })
    }
}

async fn accept(listener: TcpListener, upstream: Upstream, wire: Arc<Wire>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        // A cut link neither refuses nor answers.
        let (upstream, wire) = (upstream.clone(), wire.clone());
        connections.spawn(async move {
            let Ok(server) = TcpStream::connect(upstream.address).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (client_read, client_write) = client.into_split();
            let (server_read, server_write) = server.into_split();
            let mut counter = upstream.protocol.counter();
            let forth = pump(client_read, server_write, &wire, |bytes| counter.eat(bytes, &wire.asked));
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
