//! A receiver of messages over HTTP, with an inbox: what comes again takes effect once.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// One request, as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// Method, path and version.
    pub(crate) line: String,
    /// By their names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// What the receiver does with a request; the number counts how often this message came, from 1.
pub(crate) type Manners = dyn Fn(&Request, usize) -> Answer + Send + Sync;

/// How it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It applies the message, unless it has, and says 204.
    Apply,
    /// It applies the message, unless it has, and the answer is lost.
    ApplyAndBreak,
    /// It says this, and applies nothing.
    Say(String),
    /// It says nothing for this long, and then closes.
    Hang(Duration),
}

#[derive(Debug, Default)]
struct Ledger {
    /// Every request, in the order of arrival.
    requests: Vec<Request>,
    /// How often each message came.
    seen: HashMap<String, usize>,
    applied: HashSet<String>,
    /// The payloads that took effect, by source, in the order of their effects.
    effects: HashMap<String, Vec<String>>,
}

/// A receiver on loopback. Its threads end with the process.
pub(crate) struct Receiver {
    address: SocketAddr,
    ledger: Arc<Mutex<Ledger>>,
}

impl Receiver {
    /// Applies everything.
    pub(crate) fn start() -> Self {
        Self::with(|_, _| Answer::Apply)
    }

    pub(crate) fn with(manners: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().unwrap();
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let (theirs, manners): (_, Arc<Manners>) = (ledger.clone(), Arc::new(manners));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (ledger, manners) = (theirs.clone(), manners.clone());
                thread::spawn(move || serve(stream, &ledger, &*manners));
            }
        });
        Self { address, ledger }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.ledger().requests.clone()
    }

    /// How many messages took effect.
    pub(crate) fn applied(&self) -> usize {
        self.ledger().applied.len()
    }

    /// The payloads of a source that took effect, in the order of their effects; `""` for none.
    pub(crate) fn effects(&self, source: &str) -> Vec<String> {
        self.ledger().effects.get(source).cloned().unwrap_or_default()
    }
}

fn serve(stream: TcpStream, ledger: &Mutex<Ledger>, manners: &Manners) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let id = request.header("ce-id").to_owned();
        let count = {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.requests.push(request.clone());
            let count = ledger.seen.entry(id.clone()).or_default();
            *count += 1;
            *count
        };
        let answer = manners(&request, count);
        if matches!(answer, Answer::Apply | Answer::ApplyAndBreak) {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            if ledger.applied.insert(id) {
                let source = request.header("ce-tenuresource").to_owned();
                ledger.effects.entry(source).or_default().push(request.text());
            }
        }
        let said = match answer {
            Answer::Apply => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            Answer::Say(text) => text,
            Answer::ApplyAndBreak => return,
            Answer::Hang(span) => {
                thread::sleep(span); // passes time: a receiver that hangs
                return;
            }
        };
        if writer.write_all(said.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut request = Request::default();
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if request.line.is_empty() {
            request.line = line.to_owned();
        } else if let Some((name, value)) = line.split_once(':') {
            request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = request.header("content-length").parse().unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
