//! A link to a server that can be broken: it refuses, goes silent, and comes back.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

/// How the link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Link {
    /// Bytes pass.
    Open,
    /// Nothing passes and nobody says so; what was sent arrives when the link opens again.
    Silent,
    /// Connections are broken, new ones refused.
    Refused,
    /// The test is over.
    Gone,
}

/// A proxy before one server. It ends when it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<AtomicU8>,
}

const LOOK_EVERY: Duration = Duration::from_millis(5);

impl Proxy {
    /// A link to the server that `url` names.
    pub(crate) fn before(url: &str) -> Self {
        let url = url::Url::parse(url).expect("a URL");
        let usual = if url.scheme() == "mysql" { 3306 } else { 5432 };
        let upstream = format!("{}:{}", url.host_str().expect("a host"), url.port().unwrap_or(usual));
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let address = listener.local_addr().unwrap();
        let state = Arc::new(AtomicU8::new(Link::Open as u8));
        let seen = state.clone();
        thread::spawn(move || accept(listener, address, &upstream, &seen));
        Self { address, state }
    }

    /// The same database, by way of this link.
    pub(crate) fn url(&self, url: &str) -> String {
        let mut url = url::Url::parse(url).expect("a URL");
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    pub(crate) fn set(&self, link: Link) {
        self.state.store(link as u8, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.set(Link::Gone);
    }
}

fn is(state: &AtomicU8, link: Link) -> bool {
    state.load(Ordering::SeqCst) == link as u8
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn accept(listener: TcpListener, address: SocketAddr, upstream: &str, state: &Arc<AtomicU8>) {
    let mut listener = Some(listener);
    while !is(state, Link::Gone) {
        if is(state, Link::Refused) {
            listener = None;
        } else if listener.is_none() {
            listener = listen(address).ok();
        }
        match listener.as_ref().map(TcpListener::accept) {
            Some(Ok((client, _))) => {
                client.set_nonblocking(false).unwrap();
                if let Ok(server) = TcpStream::connect(upstream) {
                    connect(client, server, state);
                }
            }
            _ => thread::sleep(LOOK_EVERY), // passes time: between two looks
        }
    }
}

fn connect(client: TcpStream, server: TcpStream, state: &Arc<AtomicU8>) {
    for (from, to) in [(&client, &server), (&server, &client)] {
        let (from, to, state) = (from.try_clone().unwrap(), to.try_clone().unwrap(), state.clone());
        from.set_read_timeout(Some(LOOK_EVERY)).unwrap();
        from.set_nodelay(true).unwrap();
        thread::spawn(move || {
            pump(&from, &to, &state);
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}

fn pump(mut from: &TcpStream, mut to: &TcpStream, state: &AtomicU8) {
    let mut buffer = [0; 16 * 1024];
    while !is(state, Link::Refused) && !is(state, Link::Gone) {
        if is(state, Link::Silent) {
            thread::sleep(LOOK_EVERY); // passes time: between two looks
            continue;
        }
        let count = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => return,
        };
        // The link may have changed while we read.
        while is(state, Link::Silent) {
            thread::sleep(LOOK_EVERY); // passes time: between two looks
        }
        if is(state, Link::Refused) || to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
