//! A dashboard over a store in memory, with something of everything in it, and people who come to see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode};
use tenure_core::cluster::{ClusterSettings, DaemonName, DaemonSpec, Order};
use tenure_core::contract::{
    CheckpointStore, ClusterStore, EventStore, LeaseStore, OperatorStores, OutboxAdmin, OutboxStore,
    RunnerStore,
};
use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, Position, StreamName, Version};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Claim, LeaseName};
use tenure_core::memory::{ManualClock, MemoryStore};
use tenure_core::observe::{AuditSelection, RunnerKind, RunnerReport};
use tenure_core::outbox::{
    Body as Payload, Filter, Kind, Limits, NewMessage, Next, Outcome, Selection, State, shorten,
};
use tenure_core::subscription::{Advance, Aside, Step, SubscriptionName};
use tenure_dashboard::mutation::Rule;
use tenure_dashboard::{Auth, Dashboard, Hosts, Operator, Permissions, SigningKey, Tokens};
use tower::ServiceExt;

use crate::watched::Watched;

pub(crate) const HOST: &str = "ops.example.com";
pub(crate) const DEAD_ID: &str = "00000000-0000-0000-0000-000000000001";
pub(crate) const SECRET: &str = "SECRET-OF-A-PAYLOAD";

/// Everyone who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Nobody,
    WrongToken,
    Expired,
    View,
    ViewPayloads,
    Operate,
    OperatePayloads,
}

impl Who {
    pub(crate) const ALL: [Self; 7] = [
        Self::Nobody,
        Self::WrongToken,
        Self::Expired,
        Self::View,
        Self::ViewPayloads,
        Self::Operate,
        Self::OperatePayloads,
    ];

    pub(crate) fn token(self) -> Option<&'static str> {
        Some(match self {
            Self::Nobody => return None,
            Self::WrongToken => "CANARY-a-token-that-nobody-knows",
            Self::Expired => "CANARY-token-of-the-expired-one",
            Self::View => "CANARY-token-of-the-viewer-00",
            Self::ViewPayloads => "CANARY-token-of-the-reader-00",
            Self::Operate => "CANARY-token-of-the-operator0",
            Self::OperatePayloads => "CANARY-token-of-the-chief-000",
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nobody | Self::WrongToken => "",
            Self::Expired => "eve",
            Self::View => "vera",
            Self::ViewPayloads => "rita",
            Self::Operate => "otto",
            Self::OperatePayloads => "ada",
        }
    }

    pub(crate) fn may(self) -> Permissions {
        match self {
            Self::Nobody | Self::WrongToken | Self::Expired => Permissions::NONE,
            Self::View => Permissions::VIEW,
            Self::ViewPayloads => Permissions::PAYLOADS,
            Self::Operate => Permissions::OPERATE,
            Self::OperatePayloads => Permissions::ALL,
        }
    }
}

/// The tokens of all who have one. Lines are made as the file has them, with their ends.
pub(crate) fn tokens() -> Tokens {
    let line = |who: Who| {
        let (name, token) = (who.name(), who.token().unwrap());
        let until = if who == Who::Expired { " until=2020-01-01T00:00:00Z" } else { "" };
        let may = if who == Who::Expired { Permissions::ALL } else { who.may() };
        format!("{name} {may} sha256:{}{until}", sha256(token))
    };
    let known = [Who::Expired, Who::View, Who::ViewPayloads, Who::Operate, Who::OperatePayloads];
    Tokens::parse(&known.map(line).join("\n")).unwrap()
}

pub(crate) fn sha256(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A dashboard and its store.
pub(crate) struct House {
    pub(crate) store: Arc<Watched>,
    pub(crate) router: Router,
}

impl House {
    /// With tokens, and something of everything.
    pub(crate) async fn new(without: Option<Rule>) -> Self {
        Self::with(without, |dashboard| dashboard, "something").await
    }

    /// Without tokens.
    pub(crate) async fn loopback(without: Option<Rule>) -> Self {
        let store = filled("something").await;
        let auth = Auth::insecure_loopback_only();
        Self::of(store, auth, Hosts::loopback(), without, |dashboard| dashboard)
    }

    /// With tokens, where every text that others write is `text`.
    pub(crate) async fn with(
        without: Option<Rule>,
        change: impl FnOnce(Dashboard) -> Dashboard,
        text: &str,
    ) -> Self {
        let store = filled(text).await;
        let auth = Auth::tokens(tokens()).signed_with(SigningKey::new([9; 32]).unwrap());
        Self::of(store, auth, Hosts::these([HOST]).unwrap(), without, change)
    }

    pub(crate) fn of(
        store: Arc<Watched>,
        auth: Auth,
        hosts: Hosts,
        without: Option<Rule>,
        change: impl FnOnce(Dashboard) -> Dashboard,
    ) -> Self {
        let stores = OperatorStores::of(Arc::clone(&store), LeaseStore::capabilities(&store.inner));
        let mut dashboard = change(Dashboard::new(stores, auth, hosts).this_node(node("here")));
        if let Some(rule) = without {
            dashboard = dashboard.without(rule);
        }
        let router = Router::new().nest("/_tenure", dashboard.router(std::future::pending()));
        Self { store, router }
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask<'_> {
        let mut ask = Ask {
            house: self,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: String::new(),
            peer: Some(peer()),
        };
        ask = ask.header("host", HOST);
        ask
    }

    pub(crate) fn get(&self, path: &str) -> Ask<'_> {
        self.ask("GET", path)
    }

    /// Begins a session by the login, as a browser does.
    pub(crate) async fn log_in(&self, who: Who) -> Session {
        let token = who.token().unwrap();
        let told = self.ask("POST", "/login").ours().form(&format!("password={token}")).send().await;
        assert_eq!(told.status, 303, "{}", told.body);
        let cookie = told.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let page = self.get("/").header("cookie", &cookie).send().await;
        assert_eq!(page.status, 200);
        // Every page of a session has a form to log out by, with the token.
        let csrf = csrf(&page).expect("the page has a form with a token");
        Session { cookie, csrf }
    }

    /// All that a change could have left behind.
    pub(crate) async fn state(&self) -> String {
        let store = &self.store.inner;
        let messages = store.list(&Selection { limit: 1_000, ..Selection::default() }).await.unwrap();
        let subscriptions = store.subscriptions(None, 100).await.unwrap();
        let daemons = store.daemons(&tenure_core::cluster::DaemonFilter::beginning("")).await.unwrap();
        let lines = self.audit().await;
        format!("{lines:?} {messages:?} {subscriptions:?} {daemons:?}")
    }

    /// The lines of audit but those of refused tokens.
    pub(crate) async fn audit(&self) -> Vec<tenure_core::observe::AuditLine> {
        let selection = AuditSelection { limit: 1_000, ..Default::default() };
        let page = tenure_core::contract::AuditLog::audit(&self.store.inner, &selection).await.unwrap();
        page.lines.into_iter().filter(|line| line.action != "dashboard.refused").collect()
    }
}

/// The token of a form of a page.
pub(crate) fn csrf(page: &Told) -> Option<String> {
    page.body.split("name=\"csrf\" value=\"").nth(1)?.split('"').next().map(str::to_owned)
}

/// A page that has a form for those who may act.
pub(crate) fn page_with_a_form() -> String {
    format!("/message?id={DEAD_ID}")
}

/// What a browser holds after a login.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

/// A request under way. Paths are below the mount.
pub(crate) struct Ask<'a> {
    house: &'a House,
    method: String,
    path: String,
    headers: HeaderMap,
    body: String,
    peer: Option<SocketAddr>,
}

impl Ask<'_> {
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, value.parse().unwrap());
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub(crate) fn from(mut self, peer: Option<&str>) -> Self {
        self.peer = peer.map(|peer| peer.parse().unwrap());
        self
    }

    /// From a page of ours, as browsers say.
    pub(crate) fn ours(self) -> Self {
        self.header("sec-fetch-site", "same-origin").header("origin", &format!("https://{HOST}"))
    }

    pub(crate) fn bearer(self, who: Who) -> Self {
        match who.token() {
            Some(token) => self.header("authorization", &format!("Bearer {token}")),
            None => self,
        }
    }

    pub(crate) fn form(mut self, body: &str) -> Self {
        self.body = body.to_owned();
        self.header("content-type", "application/x-www-form-urlencoded")
    }

    pub(crate) fn json(mut self, body: &str) -> Self {
        self.body = body.to_owned();
        self.header("content-type", "application/json")
    }

    pub(crate) async fn send(self) -> Told {
        let path = if self.path == "/" { String::new() } else { self.path };
        let mut request = Request::builder()
            .method(self.method.as_str())
            .uri(format!("/_tenure{path}"))
            .body(Body::from(self.body))
            .unwrap();
        *request.headers_mut() = self.headers;
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        let response = self.house.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 64 * 1024 * 1024).await.unwrap();
        Told {
            status: head.status.as_u16(),
            code: head.status,
            headers: head.headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Whether it leads to the login.
    pub(crate) fn is_login(&self) -> bool {
        self.code == StatusCode::SEE_OTHER && self.header("location").starts_with("/_tenure/login?to=")
    }
}

/// An address of its own for everyone, so that wrong tokens of one do not count against another.
fn peer() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0x0a00_0001);
    SocketAddr::from((NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes(), 40_000))
}

pub(crate) fn node(name: &str) -> Node {
    Node {
        name: NodeName::new(name).unwrap(),
        incarnation: Unique::from_u128(7),
        machine: "m1".into(),
        pid: 1,
    }
}

/// A clock that stands well after all tokens' beginnings.
pub(crate) fn in_2027() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A store with something of everything, each text as given where a text may be anything.
pub(crate) async fn filled(text: &str) -> Arc<Watched> {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_700_000_000));
    let store = MemoryStore::new(clock);
    messages(&store, text).await;
    let ours = name(text, 150);
    let claim = |lease: &str| Claim {
        name: LeaseName::new(lease).unwrap(),
        node: Node { machine: ours.clone(), ..node(&ours) },
        id: Unique::from_u128(8),
        ttl: Duration::from_secs(600),
        kind: Some(ours.clone()),
        evidence: None,
    };
    store.try_acquire(&claim("outbox")).await.unwrap();
    store.try_acquire(&claim(&format!("x-{ours}"))).await.unwrap();
    let specs = vec![DaemonSpec::new(DaemonName::new("work/one").unwrap())];
    let deadlines = ClusterSettings::default().deadlines();
    store.apply(&Order::Declare { specs, deadlines }).await.unwrap();
    events(&store, text).await;
    let report = RunnerReport {
        kind: RunnerKind::Relay,
        name: ours.clone(),
        state: ours.clone(),
        trouble: Some(shorten(text)),
        cycled_ago: Some(Duration::from_secs(1)),
        advanced_ago: None,
        every: Duration::from_secs(1),
        counters: [("delivered".into(), 3)].into(),
    };
    store.report(&node(&ours), &[report]).await.unwrap();
    tenure_core::contract::AuditLog::note(&store, &ours, "noted", &ours, text).await.unwrap();
    Arc::new(Watched::new(store))
}

async fn messages(store: &MemoryStore, text: &str) {
    let ours = name(text, 150);
    let message = |id: u128| {
        NewMessage::new(ours.clone(), ours.clone(), Payload::Text(format!("{SECRET} {text}")))
            .with_id(uuid::Uuid::from_u128(id))
            .from_source(ours.clone())
            .with_header("x-secret", format!("{SECRET} {ours}"))
            .with_header("tenure-correlation", ours.clone())
            .with_header("tenure-causation", format!("loan-{ours}@1"))
    };
    store.enqueue(&[message(1), message(2)], &Limits { payload: 64 * 1024 * 1024 }).await.unwrap();
    let rows = store.list(&Selection { limit: 10, ..Selection::default() }).await.unwrap().messages;
    let dead = rows.iter().find(|row| row.id == DEAD_ID).unwrap();
    let outcome = Outcome {
        id: dead.row,
        attempt: 1,
        kind: Kind::Rejected,
        next: Next::Dead { halt: true },
        // What a receiver answered, which repeats what it was sent.
        reason: Some(shorten(&format!("HTTP 400: {SECRET} {text}"))),
        took: Duration::from_millis(3),
    };
    store.record(None, &NodeName::new(ours).unwrap(), &[outcome]).await.unwrap();
}

/// So many more dead messages, of a topic of their own.
pub(crate) async fn bury(store: &MemoryStore, many: u128) {
    let message = |id: u128| NewMessage::json("bulk", "t", "{}").with_id(uuid::Uuid::from_u128(id));
    let messages: Vec<NewMessage> = (1_000..1_000 + many).map(message).collect();
    store.enqueue(&messages, &Limits::default()).await.unwrap();
    die(store).await;
}

/// Those of them that wait are given up.
pub(crate) async fn die(store: &MemoryStore) {
    let filter = Filter { state: Some(State::Pending), topic: Some("bulk".into()), ..Filter::default() };
    let waiting = Selection { filter, limit: 1_000, ..Selection::default() };
    let rows = store.list(&waiting).await.unwrap().messages;
    let outcome = |row: &tenure_core::outbox::Summary| Outcome {
        id: row.row,
        attempt: row.attempts + 1,
        kind: Kind::Rejected,
        next: Next::Dead { halt: false },
        reason: Some("503".into()),
        took: Duration::from_millis(1),
    };
    let outcomes: Vec<Outcome> = rows.iter().map(outcome).collect();
    store.record(None, &NodeName::new("n").unwrap(), &outcomes).await.unwrap();
}

async fn events(store: &MemoryStore, text: &str) {
    let ours = name(text, 150);
    let stream = StreamName::new(format!("loan-{ours}")).unwrap();
    let mut event = NewEvent::json(uuid::Uuid::from_u128(3), ours.clone(), "{}");
    event.body = Payload::Text(serde_json::json!({ "text": format!("{SECRET} {text}") }).to_string());
    event.metadata.correlation = Some(ours.clone());
    event.metadata.causation = Some(ours.clone());
    event.metadata.headers = [("x-secret".to_owned(), SECRET.to_owned())].into();
    let sent = NewMessage::json(ours.clone(), ours.clone(), "{}").from_version(stream.as_str(), 1, 0);
    let append = Append::new(stream.clone(), Expected::NONE, vec![event]).with_dispatches(vec![sent]);
    let limits = tenure_core::event::Limits { payload: 64 * 1024 * 1024 };
    let answer = EventStore::append(store, &append, &limits).await.unwrap();
    assert!(matches!(answer, AppendAnswer::Appended(_)), "{answer:?}");
    let aside = Aside {
        position: Position(1),
        stream: Some(stream),
        version: Version(1),
        kind: ours.clone(),
        reason: shorten(text),
        attempts: 3,
    };
    let name = SubscriptionName::new(format!("sub-{ours}")).unwrap();
    let step = Step { name, from: Position::START, rewinds: 0, to: Position(1), parked: vec![aside] };
    assert_eq!(store.advance(None, &step).await.unwrap(), Advance::Advanced);
}

/// As much of a text as a name may hold.
pub(crate) fn name(text: &str, bytes: usize) -> String {
    let mut name: String = text.chars().filter(|c| !c.is_control()).take(bytes).collect();
    while name.len() > bytes {
        name.pop();
    }
    if name.is_empty() { "-".into() } else { name }
}

/// An operator of an application.
pub(crate) fn operator(name: &str) -> Operator {
    Operator::new(name, Permissions::ALL)
}
