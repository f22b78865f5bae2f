//! A small server for Leases, as the API of a cluster has them: `resourceVersion`, `uid`, 409, 410, watches; and slow, failing
//! and lost answers on demand. It is also the example `lease_api`, for tests of other programs.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

type Body = BoxBody<Bytes, Infallible>;
type Answer = (u16, Value);

const GROUP: &str = "/apis/coordination.k8s.io/v1/namespaces/";

/// What is done to a request instead of, before or after serving it.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// Answer with this status and do nothing.
    Fail(u16),
    /// Serve it so much later.
    Slow(Duration),
    /// Serve it, and answer so much later.
    Late(Duration),
    /// Serve it, and answer 504.
    Lose,
}

/// The server. It ends when it is dropped.
#[derive(Debug)]
pub struct Api {
    address: SocketAddr,
    state: Arc<Shared>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The newest version: whoever watches looks at the log again.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    version: u64,
    objects: BTreeMap<(String, String), Value>,
    log: Vec<Event>,
    /// Watches from before this version are told 410.
    compacted: u64,
    faults: Vec<(String, VecDeque<Fault>)>,
    served: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
struct Event {
    version: u64,
    kind: &'static str,
    key: (String, String),
    object: Value,
}

impl Api {
    /// Starts on a free port of the loopback, or on the given one.
    pub async fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        // Versions of a real API do not begin with 1 either.
        let state = State { version: 1000, ..State::default() };
        let state = Arc::new(Shared { state: Mutex::new(state), changed: watch::Sender::new(0) });
        let serving = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { address, state, serving }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does these to the next requests with this verb (`get`, `create`, `update`, `watch`), one each.
    pub fn fault(&self, verb: &str, faults: impl IntoIterator<Item = Fault>) {
        self.lock().fault(verb, faults);
    }

    /// How many requests with this verb have come so far.
    pub fn served(&self, verb: &str) -> u64 {
        self.lock().served.get(verb).copied().unwrap_or(0)
    }

    /// The object.
    pub fn object(&self, namespace: &str, name: &str) -> Option<Value> {
        self.lock().objects.get(&(namespace.into(), name.into())).cloned()
    }

    /// Changes an object behind everyone's back, as another client or a person would.
    pub fn edit(&self, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.lock();
        let key = (namespace.to_owned(), name.to_owned());
        let mut object = state.objects.get(&key).cloned().unwrap_or_else(|| {
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {},
                   "metadata": {"name": name, "namespace": namespace, "uid": uid()}})
        });
        change(&mut object);
        state.put(key, object, "MODIFIED");
        self.state.tell(&state);
    }

    /// Deletes an object; whether there was one.
    pub fn delete(&self, namespace: &str, name: &str) -> bool {
        let mut state = self.lock();
        let (code, _) = state.delete((namespace.into(), name.into()));
        self.state.tell(&state);
        code == 200
    }

    /// Forgets all former versions, as the API does after some minutes.
    pub fn compact(&self) {
        let mut state = self.lock();
        state.version += 1;
        state.compacted = state.version;
        state.log.clear();
        self.state.tell(&state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, state: &State) {
        self.changed.send_replace(state.version);
    }
}

fn uid() -> String {
    let bits = format!("{:032x}", fastrand::u128(..));
    format!("{}-{}-{}-{}-{}", &bits[..8], &bits[8..12], &bits[12..16], &bits[16..20], &bits[20..])
}

impl State {
    fn fault(&mut self, verb: &str, faults: impl IntoIterator<Item = Fault>) {
        match self.faults.iter_mut().find(|(of, _)| of == verb) {
            Some((_, queue)) => queue.extend(faults),
            None => self.faults.push((verb.to_owned(), faults.into_iter().collect())),
        }
    }

    /// Counts the request, and takes what is to be done to it.
    fn begin(&mut self, verb: &str) -> Option<Fault> {
        *self.served.entry(verb.to_owned()).or_default() += 1;
        self.faults.iter_mut().find(|(of, _)| of == verb)?.1.pop_front()
    }

    fn put(&mut self, key: (String, String), mut object: Value, kind: &'static str) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key.clone(), object.clone());
        self.log.push(Event { version: self.version, kind, key, object: object.clone() });
        object
    }

    fn create(&mut self, namespace: &str, mut object: Value) -> Answer {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = (namespace.to_owned(), name.clone());
        if let Some(wrong) = invalid(&name, &object) {
            return status(422, "Invalid", &wrong);
        }
        if self.objects.contains_key(&key) {
            return status(
                409,
                "AlreadyExists",
                &format!("leases.coordination.k8s.io {name:?} already exists"),
            );
        }
        if !object["metadata"]["resourceVersion"].is_null() {
            return status(400, "BadRequest", "resourceVersion should not be set on objects to be created");
        }
        object["metadata"]["uid"] = json!(uid());
        object["metadata"]["namespace"] = json!(namespace);
        (201, self.put(key, object, "ADDED"))
    }

    fn update(&mut self, key: (String, String), object: Value) -> Answer {
        if let Some(wrong) = invalid(&key.1, &object) {
            return status(422, "Invalid", &wrong);
        }
        let given = &object["metadata"];
        let Some(found) = self.objects.get(&key) else {
            // An update may create a Lease. One with a uid names an object that is gone.
            if given["uid"].is_null() {
                return self.create(&key.0, object);
            }
            return status(409, "Conflict", "Precondition failed: UID in precondition, UID in object meta: ");
        };
        if given["resourceVersion"].as_str().is_none_or(str::is_empty) {
            return status(422, "Invalid", "metadata.resourceVersion: must be specified for an update");
        }
        if given["resourceVersion"] != found["metadata"]["resourceVersion"]
            || (!given["uid"].is_null() && given["uid"] != found["metadata"]["uid"])
        {
            return status(
                409,
                "Conflict",
                "the object has been modified; please apply your changes to the latest",
            );
        }
        (200, self.put(key, object, "MODIFIED"))
    }

    fn delete(&mut self, key: (String, String)) -> Answer {
        let Some(object) = self.objects.get(&key).cloned() else { return not_found(&key.1) };
        self.put(key.clone(), object.clone(), "DELETED");
        self.objects.remove(&key);
        (200, object)
    }
}

/// What a real API would refuse, as far as we could get it wrong.
fn invalid(name: &str, object: &Value) -> Option<String> {
    let is_part = |part: &str| {
        let ends = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        part.bytes().all(|b| ends(b) || b == b'-')
            && part.bytes().next().is_some_and(ends)
            && part.bytes().last().is_some_and(ends)
    };
    if name.len() > 253 || !name.split('.').all(is_part) {
        return Some(format!("metadata.name: Invalid value: {name:?}"));
    }
    let spec = &object["spec"];
    let number = |key: &str| spec[key].as_i64();
    if number("leaseDurationSeconds").is_some_and(|n| n <= 0) {
        return Some("spec.leaseDurationSeconds: must be greater than 0".into());
    }
    if number("leaseTransitions").is_some_and(|n| n < 0 || n > i64::from(i32::MAX)) {
        return Some("spec.leaseTransitions: must be greater than or equal to 0".into());
    }
    let notes = object["metadata"]["annotations"].as_object();
    if notes.is_some_and(|notes| notes.values().any(|value| !value.is_string())) {
        return Some("metadata.annotations: must be strings".into());
    }
    None
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
                        "code": code, "reason": reason, "message": message});
    (code, status)
}

fn not_found(name: &str) -> Answer {
    status(404, "NotFound", &format!("leases.coordination.k8s.io {name:?} not found"))
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((socket, _)) = listener.accept().await {
        // Without this, small answers wait for the acknowledgement of the one before.
        let _ = socket.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = |request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(answer(&shared, request).await) }
            };
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service_fn(answer))
                .await;
        });
    }
}

async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let query: BTreeMap<String, String> =
        request.uri().query().unwrap_or_default().split('&').filter_map(pair).collect();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    if path == "/_fault" {
        return shown(ordered(&mut shared.lock(), &query));
    }
    let mut parts = path.strip_prefix(GROUP).unwrap_or_default().split('/');
    let (namespace, kind, name) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if kind != Some("leases") || parts.next().is_some() {
        return shown(status(404, "NotFound", "the server could not find the requested resource"));
    }
    let watching = query.get("watch").is_some_and(|watch| watch == "true" || watch == "1");
    let verb = match (&method, name) {
        (&Method::GET, None) if watching => "watch",
        (&Method::GET, None) => "list",
        (&Method::GET, Some(_)) => "get",
        (&Method::POST, None) => "create",
        (&Method::PUT, Some(_)) => "update",
        (&Method::DELETE, Some(_)) => "delete",
        _ => return shown(status(405, "MethodNotAllowed", "no such method here")),
    };
    let fault = shared.lock().begin(verb);
    match fault {
        Some(Fault::Fail(code)) => return shown(status(code, "Asked", "as the test asked")),
        // passes time: the test asked for a slow server.
        Some(Fault::Slow(span)) => tokio::time::sleep(span).await,
        _ => {}
    }
    if verb == "watch" {
        return stream_of(shared, namespace, &query);
    }
    let answer = {
        let mut state = shared.lock();
        let key = (namespace.to_owned(), name.unwrap_or_default().to_owned());
        let given = || serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let answer = match verb {
            "create" => state.create(namespace, given()),
            "update" => state.update(key, given()),
            "delete" => state.delete(key),
            "get" => state.objects.get(&key).map_or_else(|| not_found(&key.1), |o| (200, o.clone())),
            _ => {
                let of = state.objects.iter().filter(|(key, _)| key.0 == namespace).map(|(_, o)| o.clone());
                let items: Vec<Value> = of.collect();
                let version = state.version.to_string();
                (
                    200,
                    json!({"kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1", "items": items,
                             "metadata": {"resourceVersion": version}}),
                )
            }
        };
        shared.tell(&state);
        answer
    };
    match fault {
        // passes time: the test asked for a late answer.
        Some(Fault::Late(span)) => tokio::time::sleep(span).await,
        Some(Fault::Lose) => return shown(status(504, "Timeout", "the answer was lost, as the test asked")),
        _ => {}
    }
    shown(answer)
}

/// Orders faults from another process: `/_fault?verb=update&fail=503&times=3`, or `slow`, `late` in milliseconds, or `lose=1`.
fn ordered(state: &mut State, query: &BTreeMap<String, String>) -> Answer {
    let number = |key: &str| query.get(key).and_then(|text| text.parse::<u64>().ok());
    let span = |key: &str| number(key).map(Duration::from_millis);
    let fault = number("fail").and_then(|code| u16::try_from(code).ok()).map(Fault::Fail);
    let fault = fault.or(span("slow").map(Fault::Slow)).or(span("late").map(Fault::Late));
    let (Some(verb), Some(fault)) = (query.get("verb"), fault.or(number("lose").map(|_| Fault::Lose))) else {
        return status(400, "BadRequest", "verb, and one of fail, slow, late, lose");
    };
    let times = number("times").unwrap_or(1).min(10_000) as usize;
    state.fault(verb, std::iter::repeat_n(fault, times));
    (200, json!({"ordered": times}))
}

fn pair(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    let value = value.replace('+', " ");
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    Some((key.to_owned(), String::from_utf8(bytes).ok()?))
}

fn shown((code, value): Answer) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    response
}

fn stream_of(shared: &Arc<Shared>, namespace: &str, query: &BTreeMap<String, String>) -> Response<Body> {
    let from = query.get("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
    let name = query.get("fieldSelector").and_then(|selector| selector.strip_prefix("metadata.name="));
    let seconds = query.get("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(60);
    let watcher = Watcher {
        shared: Arc::clone(shared),
        changed: shared.changed.subscribe(),
        namespace: namespace.to_owned(),
        name: name.map(str::to_owned),
        after: from,
        end: Instant::now() + Duration::from_secs(seconds),
        over: false,
    };
    let lines = stream::unfold(watcher, |mut watcher| async move {
        let lines = watcher.next().await?;
        Some((lines, watcher))
    });
    let frames = lines.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
    Response::new(BodyExt::boxed(StreamBody::new(frames)))
}

struct Watcher {
    shared: Arc<Shared>,
    changed: watch::Receiver<u64>,
    namespace: String,
    name: Option<String>,
    after: u64,
    end: Instant,
    over: bool,
}

impl Watcher {
    /// The next events, a line each; `None` when the stream is over.
    async fn next(&mut self) -> Option<String> {
        loop {
            if self.over {
                return None;
            }
            if let Some(text) = self.news() {
                return Some(text);
            }
            tokio::select! {
                changed = self.changed.changed() => changed.ok()?,
                // passes time: a stream ends after timeoutSeconds, as the API's does.
                () = tokio::time::sleep_until(self.end) => return None,
            }
        }
    }

    fn news(&mut self) -> Option<String> {
        self.changed.borrow_and_update();
        let shared = Arc::clone(&self.shared);
        let state = shared.lock();
        if self.after < state.compacted {
            self.over = true;
            let (_, gone) = status(410, "Expired", "too old resource version");
            return Some(format!("{}\n", json!({"type": "ERROR", "object": gone})));
        }
        let ours = |event: &&Event| {
            event.version > self.after
                && event.key.0 == self.namespace
                && self.name.as_ref().is_none_or(|name| *name == event.key.1)
        };
        let line = |event: &Event| format!("{}\n", json!({"type": event.kind, "object": event.object}));
        let text: String = state.log.iter().filter(ours).map(line).collect();
        self.after = state.version.max(self.after);
        (!text.is_empty()).then_some(text)
    }
}
