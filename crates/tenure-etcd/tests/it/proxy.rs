//! What may stand between a node and etcd: a link that holds requests back, loses answers, or goes silent.
//!
//! It reads just enough of HTTP/2 to count: a request, and an answer, begins with a frame of headers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;

/// What is to happen to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trick {
    /// It waits, and all that comes after it, until it is let go.
    Hold,
    /// It reaches the server, and the connection is cut when the answer comes.
    LoseAnswer,
}

/// A link whose tricks are played on all its connections.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The trick, and how many requests to let pass before it.
    armed: Mutex<Option<(usize, Trick)>>,
    /// How often a trick was played.
    played: AtomicUsize,
    holding: AtomicBool,
    let_go: Notify,
    silent: AtomicBool,
}

impl Proxy {
    pub(crate) async fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(link(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }

    /// Holds the request with this number, counted from 1 from now on.
    pub(crate) fn hold_request(&self, number: usize) {
        self.state.holding.store(true, Ordering::SeqCst);
        *self.state.armed.lock().unwrap() = Some((number, Trick::Hold));
    }

    /// Lets what is held go on.
    pub(crate) fn let_go(&self) {
        self.state.holding.store(false, Ordering::SeqCst);
        self.state.let_go.notify_waiters();
    }

    /// Cuts the connection in place of the answer to the request with this number.
    pub(crate) fn lose_answer(&self, number: usize) {
        *self.state.armed.lock().unwrap() = Some((number, Trick::LoseAnswer));
    }

    /// Swallows everything, or no longer does.
    pub(crate) fn silence(&self, on: bool) {
        self.state.silent.store(on, Ordering::SeqCst);
    }

    pub(crate) fn played(&self) -> usize {
        self.state.played.load(Ordering::SeqCst)
    }

    /// Waits until a trick has been played so often.
    pub(crate) async fn until_played(&self, times: usize) {
        while self.played() < times {
            tokio::task::yield_now().await;
        }
    }
}

impl State {
    /// Notes one request, and says what is to happen to it.
    fn request(&self) -> Option<Trick> {
        let mut armed = self.armed.lock().unwrap();
        let (left, trick) = armed.as_mut()?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        let trick = *trick;
        *armed = None;
        self.played.fetch_add(1, Ordering::SeqCst);
        Some(trick)
    }

    async fn held(&self) {
        loop {
            let told = self.let_go.notified();
            if !self.holding.load(Ordering::SeqCst) {
                return;
            }
            told.await;
        }
    }
}

async fn link(client: TcpStream, server: TcpStream, state: Arc<State>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let losing = AtomicBool::new(false);
    tokio::select! {
        _ = requests(from_client, to_server, &state, &losing) => {}
        _ = answers(from_server, to_client, &state, &losing) => {}
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &State,
    losing: &AtomicBool,
) -> std::io::Result<()> {
    let mut preface = [0; PREFACE_BYTES];
    from.read_exact(&mut preface).await?;
    to.write_all(&preface).await?;
    loop {
        let (kind, frame) = frame(&mut from).await?;
        if kind == HEADERS {
            match state.request() {
                Some(Trick::Hold) => state.held().await,
                Some(Trick::LoseAnswer) => losing.store(true, Ordering::SeqCst),
                None => {}
            }
        }
        if !state.silent.load(Ordering::SeqCst) {
            to.write_all(&frame).await?;
        }
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &State,
    losing: &AtomicBool,
) -> std::io::Result<()> {
    loop {
        let (kind, frame) = frame(&mut from).await?;
        if kind == HEADERS && losing.load(Ordering::SeqCst) {
            return Ok(());
        }
        if !state.silent.load(Ordering::SeqCst) {
            to.write_all(&frame).await?;
        }
    }
}

/// One frame, and its kind.
async fn frame(from: &mut OwnedReadHalf) -> std::io::Result<(u8, Vec<u8>)> {
    let mut frame = vec![0; HEAD_BYTES];
    from.read_exact(&mut frame).await?;
    let length = usize::from(frame[0]) << 16 | usize::from(frame[1]) << 8 | usize::from(frame[2]);
    let kind = frame[3];
    frame.resize(HEAD_BYTES + length, 0);
    from.read_exact(&mut frame[HEAD_BYTES..]).await?;
    Ok((kind, frame))
}
