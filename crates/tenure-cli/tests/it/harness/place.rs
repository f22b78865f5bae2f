//! Places that grant leases and keep nothing else: etcd, Kafka and the API of Kubernetes, each with a corner for the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::{PATIENCE, server};

/// The server that `tenure-kubernetes` is tested with.
#[cfg(feature = "kubernetes")]
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../tenure-kubernetes/tests/it/api.rs"]
mod api;

/// Where one test has its leases granted.
pub(crate) struct Place {
    /// What all that the test leaves there begins with.
    corner: String,
    kind: Kind,
}

enum Kind {
    Etcd {
        url: String,
    },
    Kafka {
        url: String,
    },
    #[cfg(feature = "kubernetes")]
    Kubernetes {
        api: api::Api,
        _runtime: tokio::runtime::Runtime,
    },
}

/// Makes each function a test at one place: `tests_at!(etcd: some_property)` is the test `etcd::some_property`.
macro_rules! tests_at {
    ($($place:literal $module:ident: $($name:ident),+ $(,)?;)+) => {
        $(#[cfg(feature = $place)]
        mod $module {
            $(#[test] fn $name() { crate::harness::at($place, super::$name); })+
        })+
    };
}
pub(crate) use tests_at;

/// Runs a test over SQLite at a place, or says aloud that it cannot.
pub(crate) fn at(name: &str, test: fn(&super::Store, &Place)) {
    let Some(place) = Place::new(name) else { return };
    test(&super::Store::sqlite_file(), &place);
}

impl Place {
    fn new(name: &str) -> Option<Self> {
        let kind = match name {
            "etcd" => Kind::Etcd { url: server("TENURE_TEST_ETCD_URL")? },
            "kafka" => Kind::Kafka { url: server("TENURE_TEST_KAFKA_URL")? },
            #[cfg(feature = "kubernetes")]
            "kubernetes" => {
                let mut runtime = tokio::runtime::Builder::new_multi_thread();
                let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
                Kind::Kubernetes { api: runtime.block_on(api::Api::start(0)), _runtime: runtime }
            }
            other => panic!("no place is called {other}"),
        };
        Some(Self { corner: format!("t-{:012x}", fastrand::u64(..1 << 48)), kind })
    }

    /// By what URL it is given to a process whose leases last for `ttl` seconds.
    pub(crate) fn url(&self, ttl: u32) -> String {
        let corner = &self.corner;
        match &self.kind {
            Kind::Etcd { url } => format!("{}/{corner}/", url.trim_end_matches('/')),
            // Members of a group live by its session, in which the ttl must fit.
            Kind::Kafka { url } => {
                format!("{url}/{corner}?heartbeat=300ms&session-timeout={}ms", 1000 * ttl + 500 * ttl)
            }
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes { api, .. } => format!("kubernetes://default/{corner}?server={}", api.url()),
        }
    }

    /// The same kind of place where no server is.
    pub(crate) fn url_of_nobody(&self) -> &'static str {
        match &self.kind {
            Kind::Etcd { .. } => "etcd://us3r:c4nary@127.0.0.1:1",
            Kind::Kafka { .. } => "kafka://us3r:c4nary@127.0.0.1:1/topic?tls=false&request-timeout=1s",
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes { .. } => "kubernetes://default?server=http://127.0.0.1:1",
        }
    }

    /// What it is called as the `backend` of a lease.
    pub(crate) fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Etcd { .. } => "etcd",
            Kind::Kafka { .. } => "kafka",
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes { .. } => "kubernetes",
        }
    }

    /// Deletes what it keeps of this lease, as one who does not know what it is for.
    pub(crate) fn forget(&self, lease: &str) {
        assert!(self.try_forget(lease), "{} had something to forget", self.name());
    }

    fn try_forget(&self, _lease: &str) -> bool {
        match &self.kind {
            Kind::Etcd { url } => forget_keys(address(url), &format!("{}/", self.corner)),
            Kind::Kafka { url } => forget_topic(address(url), &self.corner),
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes { api, .. } => api.delete("default", &format!("{}.{_lease}", self.corner)),
        }
    }
}

/// Leaves nothing behind on a server that belongs to someone else.
impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.try_forget("");
        }
    }
}

/// `HOST:PORT` of a URL.
fn address(url: &str) -> &str {
    let rest = url.split_once("://").unwrap().1;
    let hosts = rest.split(['/', '?']).next().unwrap().rsplit('@').next().unwrap();
    hosts.split(',').next().unwrap()
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Deletes all keys with this prefix by etcd's JSON gateway; whether there were any.
fn forget_keys(address: &str, prefix: &str) -> bool {
    // The key after all that begin so: its last byte is a slash.
    let end = format!("{}0", prefix.strip_suffix('/').unwrap());
    let body = format!("{{\"key\":\"{}\",\"range_end\":\"{}\"}}", base64(prefix), base64(&end));
    let mut stream = connect(address);
    write!(
        stream,
        "POST /v3/kv/deleterange HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let (mut status, mut rest) = (String::new(), String::new());
    reader.read_line(&mut status).unwrap();
    reader.read_to_string(&mut rest).unwrap();
    assert!(status.contains(" 200 "), "{status}{rest}");
    rest.contains("\"deleted\"")
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |three: &[u8]| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        let digit =
            |at: usize| if at <= three.len() { DIGITS[bits >> (18 - 6 * at) & 63].into() } else { '=' };
        [digit(0), digit(1), digit(2), digit(3)]
    };
    text.as_bytes().chunks(3).flat_map(digits).collect()
}

/// Deletes a topic, by the first version of that request which brokers of today still take; whether there was one.
fn forget_topic(address: &str, topic: &str) -> bool {
    const DELETE_TOPICS: u16 = 20;
    let text = |text: &str| [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let request = [
        &[DELETE_TOPICS.to_be_bytes(), 1_u16.to_be_bytes()].concat()[..],
        // A number to know the answer by, who we are, one topic, and how many milliseconds it may take.
        &[7_u32.to_be_bytes().to_vec(), text("test"), 1_u32.to_be_bytes().to_vec(), text(topic)].concat(),
        &10_000_u32.to_be_bytes(),
    ]
    .concat();
    let mut stream = connect(address);
    stream.write_all(&u32::try_from(request.len()).unwrap().to_be_bytes()).unwrap();
    stream.write_all(&request).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).unwrap();
    // The last two bytes are the error of the only topic.
    matches!(answer[..], [.., 0, 0])
}
