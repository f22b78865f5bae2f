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
    session: Option<Session>,
}

/// What a connection is for, as its greeting says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    /// Everything on it is for presence.
    Presence,
    Other,
}

impl Counter {
    fn eat(&mut self, bytes: &[u8], wire: &Wire) {
        self.unread.extend_from_slice(bytes);
        loop {
            // The greeting has no type byte.
            let head = usize::from(self.session.is_some());
            let Some(length) = self.unread.get(head..head + 4) else { return };
            let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
            let Some(message) = self.unread.get(..head + length) else { return };
            match (self.session, message.first()) {
                (None, _) => self.session = greeting(message),
                (Some(Session::Presence), Some(b'Q' | b'E')) => {
                    wire.pings.fetch_add(1, Ordering::SeqCst);
                }
                (Some(Session::Other), Some(b'Q' | b'E')) => {
                    wire.statements.fetch_add(1, Ordering::SeqCst);
                }
                _ => {}
            }
            self.unread.drain(..head + length.max(1));
        }
    }
}

/// What the session is for; `None` for a question about encryption, after which the greeting is yet to come.
fn greeting(message: &[u8]) -> Option<Session> {
    let [_, _, _, _, major_high, major_low, _, _, parameters @ ..] = message else { return None };
    if [*major_high, *major_low] != [0, 3] {
        return None;
    }
    let texts: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
    let name = texts.chunks(2).find(|pair| pair[0] == b"application_name").and_then(|pair| pair.get(1));
    let presence = name.is_some_and(|name| name.ends_with(b" presence"));
    Some(if presence { Session::Presence } else { Session::Other })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting_of(application: &str) -> Vec<u8> {
        let text = format!("user\0u\0application_name\0{application}\0database\0d\0\0");
        let length = u32::try_from(8 + text.len()).unwrap();
        [&length.to_be_bytes()[..], &[0, 3, 0, 0], text.as_bytes()].concat()
    }

    fn query(sql: &str) -> Vec<u8> {
        let length = u32::try_from(5 + sql.len()).unwrap();
        [b"Q", &length.to_be_bytes()[..], sql.as_bytes(), b"\0"].concat()
    }

    fn counted(stream: &[u8], piece: usize) -> (u64, u64) {
        let (mut counter, wire) = (Counter::default(), Wire::default());
        stream.chunks(piece).for_each(|bytes| counter.eat(bytes, &wire));
        (wire.statements.into_inner(), wire.pings.into_inner())
    }

    #[test]
    fn only_what_the_presence_session_says_counts_as_pings() {
        // The question about encryption comes first.
        let question = [0, 0, 0, 8, 4, 210, 22, 47];
        let said = [query("select pg_backend_pid()"), query("select 1")].concat();
        for piece in [1, 7, 1000] {
            for (name, expected) in [("tenure presence", (0, 2)), ("tenure", (2, 0)), ("presence", (2, 0))] {
                let stream = [&question[..], &greeting_of(name), &said].concat();
                assert_eq!(counted(&stream, piece), expected, "{name}");
                assert_eq!(counted(&[greeting_of(name), said.clone()].concat(), piece), expected, "{name}");
            }
        }
    }
}
