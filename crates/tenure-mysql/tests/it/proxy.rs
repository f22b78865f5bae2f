//! What may stand between a program and its server: a link that goes silent, and a proxy that shares connections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Passes everything on until it is told to swallow it. Later only new connections pass again: the others stay silent.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    silent: Arc<Silence>,
    /// How many connections were opened through it.
    pub(crate) opened: Arc<AtomicUsize>,
    /// All that was said to the server.
    said: Said,
}

#[derive(Default)]
struct Silence {
    now: AtomicBool,
    /// Connections up to this number have become silent.
    up_to: AtomicUsize,
}

type Said = Arc<Mutex<Vec<u8>>>;

impl Proxy {
    pub(crate) async fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (silent, opened) = (Arc::<Silence>::default(), Arc::<AtomicUsize>::default());
        let said = Said::default();
        let (switch, count, record) = (Arc::clone(&silent), Arc::clone(&opened), Arc::clone(&said));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                let server = TcpStream::connect(&server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pump(number, from_client, to_server, Arc::clone(&switch), Arc::clone(&record)));
                tokio::spawn(pump(number, from_server, to_client, Arc::clone(&switch), Said::default()));
            }
        });
        Self { port, silent, opened, said }
    }

    /// What was said to the server since the last look.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.said.lock().unwrap())).into_owned()
    }

    pub(crate) fn silence(&self, on: bool) {
        self.silent.up_to.store(self.opened.load(Ordering::SeqCst), Ordering::SeqCst);
        self.silent.now.store(on, Ordering::SeqCst);
    }
}

/// Once silent, a stream stays silent; its end is not passed on either.
async fn pump(
    number: usize,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    silent: Arc<Silence>,
    said: Said,
) {
    let mut buffer = vec![0; 16 * 1024];
    let mut swallowing = false;
    loop {
        let Ok(read) = from.read(&mut buffer).await else { return };
        said.lock().unwrap().extend(&buffer[..read]);
        swallowing |= silent.now.load(Ordering::SeqCst) || number <= silent.up_to.load(Ordering::SeqCst);
        match (read, swallowing) {
            (0, false) => return,
            (0, true) => std::future::pending().await,
            (_, true) => {}
            (_, false) => to.write_all(&buffer[..read]).await.unwrap_or(()),
        }
    }
}

/// A proxy that multiplexes, as small as can be: each client has two connections to the server, and its commands go to them
/// in turn. It works for users without a password, whose answer to the server's greeting is always the same.
pub(crate) async fn multiplexing(server: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move {
                let _ = multiplex(client, &server).await;
            });
        }
    });
    port
}

async fn multiplex(client: TcpStream, server: &str) -> std::io::Result<()> {
    let (mut from_client, to_client) = client.into_split();
    let to_client = Arc::new(tokio::sync::Mutex::new(to_client));
    let mut servers = Vec::new();
    for _ in 0..2 {
        let (mut from, to) = TcpStream::connect(server).await?.into_split();
        let greeting = packet(&mut from).await?;
        if servers.is_empty() {
            to_client.lock().await.write_all(&greeting).await?;
        }
        servers.push((Some(from), to));
    }
    let login = packet(&mut from_client).await?;
    for (number, (from, to)) in servers.iter_mut().enumerate() {
        to.write_all(&login).await?;
        let Some(mut from) = from.take() else { continue };
        // Whatever the server says of the login, the client hears it once. A server may say it in two packets.
        let mut welcome = packet(&mut from).await?;
        if welcome[4] == 1 {
            welcome = packet(&mut from).await?;
            welcome[3] = 2;
        }
        if number == 0 {
            to_client.lock().await.write_all(&welcome).await?;
        }
        let to_client = Arc::clone(&to_client);
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(read @ 1..) = from.read(&mut buffer).await {
                let _ = to_client.lock().await.write_all(&buffer[..read]).await;
            }
        });
    }
    for turn in 0.. {
        let command = packet(&mut from_client).await?;
        servers[turn % 2].1.write_all(&command).await?;
    }
    Ok(())
}

/// One packet with its head.
async fn packet(from: &mut OwnedReadHalf) -> std::io::Result<Vec<u8>> {
    let mut whole = vec![0; 4];
    from.read_exact(&mut whole).await?;
    let length = usize::from(whole[0]) | usize::from(whole[1]) << 8 | usize::from(whole[2]) << 16;
    whole.resize(4 + length, 0);
    from.read_exact(&mut whole[4..]).await?;
    Ok(whole)
}

/// The same URL through a port of this machine.
pub(crate) fn through(url: &str, port: u16) -> String {
    let (login, address) = url.rsplit_once('@').unwrap();
    let (_, database) = address.split_once('/').unwrap();
    format!("{login}@127.0.0.1:{port}/{database}")
}

/// Host and port of a URL.
pub(crate) fn address(url: &str) -> String {
    let (_, address) = url.rsplit_once('@').unwrap();
    address.split_once('/').unwrap().0.to_owned()
}
