//! The sink of NATS: a stream of a real server gets what a relay reads from SQLite.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream;
use tempfile::TempDir;
use tenure::core::contract::Sink;
use tenure::core::outbox::{Body, Message, NewMessage, Verdict};
use tenure::sink::{EventSource, Nats, NatsOptions, SinkOptions, from_url};
use tenure::{Relay, RelaySettings, RetryPolicy, Stop};

use crate::server::{Place, given};
use crate::sink::{ID, message};

const USER: &str = "canary-us3r-abcdef";
const PASSWORD: &str = "canary-passw0rd-abcdef";

/// A stream of a test's own, on the server that the environment names.
struct Stream {
    server: String,
    /// Its name, and the first token of its subjects.
    name: String,
    jetstream: jetstream::Context,
}

impl Stream {
    async fn make(server: &str, config: jetstream::stream::Config) -> Self {
        let name = format!("t{:012x}", fastrand::u64(..1 << 48));
        let client = async_nats::connect(server).await.unwrap();
        let jetstream = jetstream::new(client);
        let subjects = vec![format!("{name}.>")];
        jetstream
            .create_stream(jetstream::stream::Config { name: name.clone(), subjects, ..config })
            .await
            .unwrap();
        Self { server: server.to_owned(), name, jetstream }
    }

    async fn given() -> Option<Self> {
        Some(Self::make(&given("TENURE_TEST_NATS_URL")?, jetstream::stream::Config::default()).await)
    }

    fn url(&self, rest: &str) -> String {
        format!("{}/{}.{rest}", self.server, self.name)
    }

    fn sink(&self, rest: &str) -> Nats {
        Nats::new(&self.url(rest), EventSource::default(), options()).unwrap()
    }

    /// All that is stored, in order.
    async fn stored(&self) -> Vec<jetstream::message::StreamMessage> {
        let mut stream = self.jetstream.get_stream(&self.name).await.unwrap();
        let last = stream.info().await.unwrap().state.last_sequence;
        let mut stored = Vec::new();
        for sequence in 1..=last {
            stored.push(stream.get_raw_message(sequence).await.unwrap());
        }
        stored
    }

    async fn delete(&self) {
        self.jetstream.delete_stream(&self.name).await.unwrap();
    }
}

fn options() -> NatsOptions {
    NatsOptions { timeout: Duration::from_secs(3), ..NatsOptions::default() }
}

fn of(source: Option<&str>, payload: &str) -> Message {
    Message {
        id: uuid(),
        source: source.map(str::to_owned),
        body: Body::Text(payload.into()),
        ..message("A")
    }
}

fn uuid() -> tenure::core::outbox::MessageId {
    format!("{:08x}-0000-4000-8000-{:012x}", fastrand::u32(..), fastrand::u64(..1 << 48)).parse().unwrap()
}

fn reason(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Rejected { reason } | Verdict::Transient { reason, .. } => reason,
        other => panic!("{other:?} has no reason"),
    }
}

#[tokio::test]
async fn an_event_is_published_in_binary_mode_with_its_id() {
    let Some(stream) = Stream::given().await else { return };
    let mut sent = message("Ord \"er\" ä");
    sent.headers
        .insert("traceparent".into(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into());
    sent.headers.insert("x\r\nevil".into(), "a\r\nb".into());
    assert_eq!(stream.sink("{topic}").deliver(&sent).await, Verdict::Accepted);
    let stored = stream.stored().await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].subject.as_str(), format!("{}.orders", stream.name));
    assert_eq!(&stored[0].payload[..], br#"{"order":7}"#);
    let header = |name: &str| stored[0].headers.get(name).map(|value| value.as_str().to_owned());
    for (name, value) in [
        ("Nats-Msg-Id", ID),
        ("ce-specversion", "1.0"),
        ("ce-id", ID),
        ("ce-source", "tenure"),
        ("ce-type", "Ord%20%22er%22%20%C3%A4"),
        ("ce-subject", "orders"),
        ("ce-time", "2026-11-15T09:30:00.123Z"),
        ("ce-tenuresource", "order-7"),
        ("ce-tenureseq", "3.1"),
        ("ce-tenureattempt", "2"),
        ("ce-tenureterm", "9"),
        ("ce-tenant", "blue"),
        ("content-type", "application/json"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ] {
        assert_eq!(header(name).as_deref(), Some(value), "{name}");
    }
    assert!(header("ce-tenureheaders").unwrap().contains("evil"));
    stream.delete().await;
}

#[tokio::test]
async fn a_delivery_that_is_repeated_is_accepted_and_stored_once() {
    let Some(stream) = Stream::given().await else { return };
    let (sink, again) = (stream.sink("a"), stream.sink("a"));
    for sink in [&sink, &sink, &again] {
        assert_eq!(sink.deliver(&message("A")).await, Verdict::Accepted);
    }
    assert_eq!(stream.stored().await.len(), 1);
    stream.delete().await;
}

#[tokio::test]
async fn a_hostile_topic_goes_nowhere_else() {
    let Some(stream) = Stream::given().await else { return };
    let sink = stream.sink("in.{topic}");
    for topic in ["*", ">", "a.b", "a b", "$JS.API.STREAM.DELETE.x", "x\r\nPUB y 0", "ä", "..", "%2E"] {
        let sent = Message { topic: topic.into(), ..of(None, topic) };
        assert_eq!(sink.deliver(&sent).await, Verdict::Accepted, "{topic}");
    }
    for stored in stream.stored().await {
        let subject = stored.subject.as_str();
        assert_eq!(subject.split('.').count(), 3, "{subject}");
        assert!(subject.starts_with(&format!("{}.in.", stream.name)), "{subject}");
    }
    let content = Message { content_type: Some("application/cloudevents+json".into()), ..of(None, "{}") };
    assert!(matches!(sink.deliver(&content).await, Verdict::Poison { .. }));
    let content = Message { content_type: Some("a\r\nNats-Msg-Id: 1".into()), ..of(None, "{}") };
    assert!(matches!(sink.deliver(&content).await, Verdict::Poison { .. }));
    stream.delete().await;
}

#[tokio::test]
async fn without_a_stream_it_is_transient_and_says_what_to_do() {
    let Some(server) = given("TENURE_TEST_NATS_URL") else { return };
    let sink = Nats::new(&format!("{server}/nobody.takes.this"), EventSource::default(), options()).unwrap();
    let batch = [of(Some("a"), "1"), of(Some("a"), "2"), of(None, "3")];
    let verdicts = sink.deliver_batch(&batch).await;
    assert!(reason(&verdicts[0]).contains("no stream takes the subject `nobody.takes.this`"), "{verdicts:?}");
    assert!(reason(&verdicts[0]).contains("nats stream add"), "{verdicts:?}");
    assert!(matches!(verdicts[0], Verdict::Transient { .. }));
    assert_eq!(verdicts[1], Verdict::Withheld, "what follows a failure in its source is not tried");
    assert!(matches!(verdicts[2], Verdict::Transient { .. }));
}

#[tokio::test]
async fn what_is_too_large_is_rejected_and_what_follows_it_is_withheld() {
    let Some(server) = given("TENURE_TEST_NATS_URL") else { return };
    let stream =
        Stream::make(&server, jetstream::stream::Config { max_message_size: 4_000, ..Default::default() })
            .await;
    let sink = stream.sink("a");
    let for_the_stream = of(Some("a"), &"x".repeat(5_000));
    let for_the_server = of(Some("b"), &"x".repeat(1 << 20));
    let batch = [for_the_stream, of(Some("a"), "1"), for_the_server, of(Some("b"), "2"), of(Some("c"), "3")];
    let verdicts = sink.deliver_batch(&batch).await;
    assert!(
        matches!(&verdicts[0], Verdict::Rejected { reason } if reason.contains("the stream")),
        "{verdicts:?}"
    );
    assert!(
        matches!(&verdicts[2], Verdict::Rejected { reason } if reason.contains("max_payload")),
        "{verdicts:?}"
    );
    assert_eq!((&verdicts[1], &verdicts[3]), (&Verdict::Withheld, &Verdict::Withheld));
    assert_eq!(verdicts[4], Verdict::Accepted);
    assert_eq!(stream.stored().await.len(), 1);
    stream.delete().await;
}

#[tokio::test]
async fn a_stream_that_is_full_is_transient() {
    let Some(server) = given("TENURE_TEST_NATS_URL") else { return };
    let full = jetstream::stream::Config {
        max_messages: 1,
        discard: jetstream::stream::DiscardPolicy::New,
        ..Default::default()
    };
    let stream = Stream::make(&server, full).await;
    let sink = stream.sink("a");
    assert_eq!(sink.deliver(&of(None, "1")).await, Verdict::Accepted);
    let verdict = sink.deliver(&of(None, "2")).await;
    assert!(
        matches!(&verdict, Verdict::Transient { reason, .. } if reason.contains("maximum messages")),
        "{verdict:?}"
    );
    stream.delete().await;
}

/// Puts `count` messages of each source, and without one, into an outbox over SQLite.
async fn filled(place: &Place, sources: &[Option<&str>], count: usize) -> tenure::Database {
    let database = place.open().await;
    let mut messages = Vec::new();
    for number in 0..count {
        for source in sources {
            let message = NewMessage::json("orders", "A", format!("{number}"));
            messages.push(match source {
                Some(source) => message.from_source(*source),
                None => message,
            });
        }
    }
    database.outbox().enqueue(&messages, &Default::default()).await.unwrap();
    database
}

fn relay(database: &tenure::Database, sink: Arc<dyn Sink>) -> Relay {
    let settings = RelaySettings {
        retry: RetryPolicy {
            max_attempts: 1_000,
            first: Duration::from_millis(20),
            cap: Duration::from_millis(100),
        },
        ..RelaySettings::default()
    };
    Relay::new(database.outbox(), sink, tenure::local_node(None).unwrap().name, settings).unwrap()
}

/// Runs until nothing is pending.
async fn drained(database: &tenure::Database, relay: &Relay, during: impl AsyncFnOnce()) {
    let stop = Stop::new();
    let (runs, until) = (relay.clone(), stop.clone());
    let task = tokio::spawn(async move { runs.run(&until).await });
    during().await;
    let began = Instant::now();
    while database.outbox_admin().stats().await.unwrap().pending > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", relay.status());
        // passes time: the relay works meanwhile
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.stop();
    task.await.unwrap().unwrap();
}

/// The numbers of each source, in the order of the stream.
fn by_source(stored: &[jetstream::message::StreamMessage]) -> std::collections::BTreeMap<String, Vec<usize>> {
    let mut found: std::collections::BTreeMap<String, Vec<usize>> = Default::default();
    for message in stored {
        let source = message.headers.get("ce-tenuresource").map_or("", |source| source.as_str());
        let number = std::str::from_utf8(&message.payload).unwrap().parse().unwrap();
        found.entry(source.to_owned()).or_default().push(number);
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_over_sqlite_fills_a_stream_in_the_order_of_each_source() {
    let Some(stream) = Stream::given().await else { return };
    let place = Place::of("sqlite").unwrap();
    let database = filled(&place, &[Some("a"), Some("b"), Some("c"), None], 200).await;
    let sink = from_url(&stream.url("{topic}"), SinkOptions::default()).unwrap();
    drained(&database, &relay(&database, sink), async || {}).await;
    let found = by_source(&stream.stored().await);
    for source in ["a", "b", "c"] {
        assert_eq!(found[source], (0..200).collect::<Vec<_>>(), "{source}");
    }
    let mut others = found[""].clone();
    others.sort_unstable();
    assert_eq!(others, (0..200).collect::<Vec<_>>());
    stream.delete().await;
}

/// A server of a test's own, to stop and to start.
struct Own {
    program: String,
    port: u16,
    directory: TempDir,
    child: Option<Child>,
}

impl Own {
    fn start(settings: &str) -> Option<Self> {
        let program = given("TENURE_TEST_NATS_SERVER")?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let directory = tempfile::tempdir().unwrap();
        let text = format!(
            "listen: 127.0.0.1:{port}\njetstream {{ store_dir: {:?} }}\n{settings}",
            directory.path().join("data")
        );
        std::fs::write(directory.path().join("nats.conf"), text).unwrap();
        let mut own = Self { program, port, directory, child: None };
        own.resume();
        Some(own)
    }

    fn resume(&mut self) {
        let log = std::fs::File::create(self.log()).unwrap();
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.directory.path().join("nats.conf"));
        self.child = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let began = Instant::now();
        while !std::fs::read_to_string(self.log()).unwrap().contains("Server is ready") {
            assert!(began.elapsed() < Duration::from_secs(20), "nats-server does not start");
            // passes time: the server starts meanwhile
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn log(&self) -> impl AsRef<Path> + use<> {
        self.directory.path().join("log")
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_the_middle_costs_neither_a_message_nor_the_order() {
    let Some(mut server) = Own::start("") else { return };
    let stream = Stream::make(&server.url(), jetstream::stream::Config::default()).await;
    let place = Place::of("sqlite").unwrap();
    let database = filled(&place, &[Some("a"), Some("b"), None], 1_500).await;
    let relay = relay(&database, Arc::new(stream.sink("{topic}")));
    let told = relay.clone();
    drained(&database, &relay, async || {
        for part in 1..=2 {
            while told.status().delivered < part * 400 {
                // passes time: the relay works meanwhile
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            server.kill();
            // passes time: the relay meets a server that is not there
            tokio::time::sleep(Duration::from_millis(200)).await;
            server.resume();
        }
    })
    .await;
    assert!(relay.status().transient > 0, "nothing failed: the server was not missed");
    assert_eq!(relay.status().dead, 0);
    // The server stores nothing twice: it knows its window of duplicates again after it was killed.
    let found = by_source(&stream.stored().await);
    for source in ["a", "b"] {
        assert_eq!(found[source], (0..1_500).collect::<Vec<_>>(), "{source}");
    }
    assert_eq!(found[""].len(), 1_500);
}

#[tokio::test]
async fn a_secret_opens_the_server_and_shows_nowhere() {
    let settings = format!(
        "authorization {{ users = [\
           {{ user: {USER}, password: {PASSWORD}, permissions: {{ publish: [\"ok.>\", \"$JS.API.>\"], subscribe: \">\" }} }} ] }}"
    );
    let Some(server) = Own::start(&settings) else { return };
    let address = format!("127.0.0.1:{}", server.port);
    let clean = |what: &dyn std::fmt::Debug| {
        let shown = format!("{what:?}");
        assert!(!shown.contains("us3r") && !shown.contains("passw0rd"), "{shown}");
    };
    let sink = |userinfo: &str, subject: &str| {
        let url = format!("nats://{userinfo}{address}/{subject}");
        let options = NatsOptions { timeout: Duration::from_millis(500), ..NatsOptions::default() };
        let sink = Nats::new(&url, EventSource::default(), options).unwrap();
        clean(&sink);
        clean(&sink.name());
        sink
    };
    let login = format!("{USER}:{PASSWORD}@");
    let options = async_nats::ConnectOptions::with_user_and_password(USER.into(), PASSWORD.into());
    let jetstream = jetstream::new(options.connect(&address).await.unwrap());
    let subjects = vec!["ok.>".to_owned(), "closed.>".to_owned()];
    jetstream
        .create_stream(jetstream::stream::Config { name: "s".into(), subjects, ..Default::default() })
        .await
        .unwrap();
    assert_eq!(sink(&login, "ok.a").deliver(&of(None, "1")).await, Verdict::Accepted);

    for wrong in [String::new(), format!("{PASSWORD}@"), format!("{USER}:{PASSWORD}x@")] {
        let verdict = sink(&wrong, "ok.a").deliver(&of(None, "2")).await;
        assert!(reason(&verdict).contains("does not let us in"), "{verdict:?}");
        clean(&verdict);
    }
    // A subject that the user may not publish to is not answered; what the server says meanwhile is told.
    let verdict = sink(&login, "closed.a").deliver(&of(None, "3")).await;
    assert!(reason(&verdict).contains("Permissions Violation"), "{verdict:?}");
    clean(&verdict);
    // Nobody is there.
    drop(server);
    let verdict = sink(&login, "ok.a").deliver(&of(None, "4")).await;
    assert!(matches!(verdict, Verdict::Transient { .. }), "{verdict:?}");
    clean(&verdict);

    for bad in [
        format!("nats://{login}/a"),
        format!("nats://{login}h/a.*"),
        format!("nats://{login}h/"),
        format!("nats://{login}h:x/a"),
        format!("nats://{login}h/a?{PASSWORD}"),
        format!("nats://{login}h/a#{PASSWORD}"),
        format!("nats://%ff{login}h/a"),
    ] {
        clean(&from_url(&bad, SinkOptions::default()).unwrap_err().to_string());
    }
    let options = NatsOptions { token: Some(PASSWORD.into()), ..NatsOptions::default() };
    clean(&options);
    let options = NatsOptions { token: Some("".into()), ..NatsOptions::default() };
    assert!(Nats::new("nats://h/a", EventSource::default(), options).is_err());
}

#[tokio::test]
async fn tls_is_spoken_when_the_url_says_so_or_the_server() {
    let key = rcgen::generate_simple_self_signed(["127.0.0.1".into()]).unwrap();
    let files = tempfile::tempdir().unwrap();
    let (pem, private) = (files.path().join("pem"), files.path().join("key"));
    std::fs::write(&pem, key.cert.pem()).unwrap();
    std::fs::write(&private, key.signing_key.serialize_pem()).unwrap();
    let settings = format!("tls {{ cert_file: {pem:?}, key_file: {private:?} }}");
    let Some(server) = Own::start(&settings) else { return };
    let try_with = async |query: &str, options: NatsOptions| {
        let sink = Nats::new(&format!("{}/a{query}", server.url()), EventSource::default(), options).unwrap();
        sink.deliver(&of(None, "1")).await
    };
    for query in ["", "?tls=on"] {
        let verdict = try_with(query, options().root_certificate(key.cert.pem())).await;
        assert!(reason(&verdict).contains("no stream takes"), "it got through: {verdict:?}");
        let verdict = try_with(query, options()).await;
        assert!(!reason(&verdict).contains("no stream takes"), "a stranger is trusted: {verdict:?}");
    }
    let Some(plain) = Own::start("") else { return };
    let sink = Nats::new(&format!("{}/a?tls=on", plain.url()), EventSource::default(), options()).unwrap();
    let verdict = sink.deliver(&of(None, "1")).await;
    assert!(!reason(&verdict).contains("no stream takes"), "it was said in plain text: {verdict:?}");
}
