//! A server of its own, as the binary `tenure` has it.
//!
//! Beside the dashboard at its mount it answers `/health/live` and `/health/ready` for probes, `/metrics` for Prometheus, and
//! leads `/` to the mount. Connections, heads, waiting and reading are bounded; probes are answered also when no place is left.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tenure_core::observe::METER;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::auth::loopback;
use crate::auth::who::{self, Stranger};
use crate::dashboard::{Dashboard, Desk};
use crate::door::{Bounds, Door, Place};
use crate::limits::{
    CONNECTIONS_EACH_MAX, CONNECTIONS_MAX, END_WITHIN, HEAD_MAX_BYTES, HEAD_WITHIN, RESERVE,
    RESERVE_HEAD_WITHIN,
};
use crate::pace::Paced;
use crate::problem::Problem;
use crate::{gate, headers, hosts};

/// Without a judge of health the store is asked for a sign of life no more often.
const SIGN_EVERY: Duration = Duration::from_secs(2);

/// What a server answers beside the dashboard.
#[derive(Clone, Default)]
pub struct Extra {
    /// The metrics of this process as text for Prometheus: `Arc::new(tenure::telemetry::prometheus)`.
    pub metrics: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    /// Who may read them.
    pub metrics_for: MetricsFor,
}

impl std::fmt::Debug for Extra {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extra").field("metrics_for", &self.metrics_for).finish_non_exhaustive()
    }
}

/// Who may read metrics without a token. Whoever may look may read them in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MetricsFor {
    /// Nobody.
    Closed,
    /// This machine, and not through a proxy.
    #[default]
    Loopback,
    /// Everyone.
    Open,
}

/// Whether a process lives, or is ready.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthAnswer {
    /// Whether it does, or is.
    pub up: bool,
    /// The whole report, for those who may look.
    pub report: Value,
}

/// Who judges whether this process lives and is ready.
#[async_trait]
pub trait HealthSource: Send + Sync {
    /// Whether its loops go round. Asks nobody.
    fn live(&self) -> HealthAnswer;
    /// Whether it can do its work. Answers within a bound, whatever the store does, and asks it no oftener for many probes than
    /// for one.
    async fn ready(&self) -> HealthAnswer;
}

/// Serves a dashboard on an address until `stop`: then takes no more, lets requests end for a few seconds, and returns. Live
/// views end at once.
pub async fn serve(
    listener: TcpListener,
    dashboard: Dashboard,
    extra: Extra,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let desk = dashboard.into_desk(stop);
    let mut stopping = desk.stopping.clone();
    let door = Door::new(Bounds { places: CONNECTIONS_MAX, each: CONNECTIONS_EACH_MAX, reserve: RESERVE });
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => break,
            accepted = accept(&listener, &door) => accepted,
        };
        let Some((stream, peer, place)) = accepted else { continue };
        tokio::spawn(connection(Arc::clone(&desk), extra.clone(), stream, peer, Arc::new(place)));
    }
    drop(listener);
    // Those that have not ended by then end with the process.
    let _ = tokio::time::timeout(END_WITHIN, door.empty()).await;
    Ok(())
}

/// The next connection, and its place; none where it could not be accepted, or nobody is left to send away for it.
pub(crate) async fn accept(
    listener: &TcpListener,
    door: &Arc<Door>,
) -> Option<(TcpStream, SocketAddr, Place)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            let place = door.enter(peer.ip())?;
            Some((stream, peer, place))
        }
        Err(error) => {
            // Too many open files, say: it passes, and until then nobody is to be kept busy by it.
            tracing::warn!(%error, "a connection to the dashboard was not accepted");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn connection(desk: Arc<Desk>, extra: Extra, stream: TcpStream, peer: SocketAddr, place: Arc<Place>) {
    let mut stopping = desk.stopping.clone();
    let asking = Arc::clone(&place);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (desk, extra, place) = (Arc::clone(&desk), extra.clone(), Arc::clone(&asking));
        async move {
            place.asks();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            if place.is_reserve() && !is_probe(request.uri().path(), peer) {
                METER.dashboard_refused.add(gate::CROWDED, 1);
                return Ok::<_, Infallible>(crowded());
            }
            Ok(answer(&desk, &extra, request).await)
        }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).max_buf_size(HEAD_MAX_BYTES);
    match place.is_reserve() {
        true => server.header_read_timeout(RESERVE_HEAD_WITHIN).keep_alive(false),
        false => server.header_read_timeout(HEAD_WITHIN),
    };
    let served = server.serve_connection(TokioIo::new(Paced::new(stream)), service);
    tokio::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        () = place.sent_away() => return,
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    served.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(END_WITHIN, served).await;
}

/// What is answered also when no place is left: whether the process lives and is ready, and to this machine its metrics.
fn is_probe(path: &str, peer: SocketAddr) -> bool {
    match path {
        "/health/live" | "/health/ready" => true,
        "/metrics" => peer.ip().to_canonical().is_loopback(),
        _ => false,
    }
}

fn crowded() -> Response {
    let mut response = plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many connections are open here, or from your address; come again in a moment\n",
    );
    headers::set(response.headers_mut(), &gate::request_id());
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

async fn answer(desk: &Arc<Desk>, extra: &Extra, request: Request) -> Response {
    let path = request.uri().path();
    let below =
        path.strip_prefix(desk.mount.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    // At the root the dashboard has everything but what is named here.
    match path {
        "/health/live" | "/health/ready" | "/metrics" => {}
        _ if below.is_some() => return gate::pass(Arc::clone(desk), request).await,
        _ => {}
    }
    let id = gate::request_id();
    let (path, head) = (path.to_owned(), request.method() == Method::HEAD);
    let mut response = match *request.method() {
        Method::GET | Method::HEAD => beside(desk, extra, &path, request).await,
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "this can be asked for with GET, HEAD only\n"),
    };
    headers::set(response.headers_mut(), &id);
    if head {
        *response.body_mut() = Body::empty();
    }
    response
}

async fn beside(desk: &Arc<Desk>, extra: &Extra, path: &str, request: Request) -> Response {
    match path {
        "/" => gate::redirect(&desk.link("/")),
        "/health/live" | "/health/ready" => {
            let live = path == "/health/live";
            let health = match (&desk.health, live) {
                (Some(source), true) => source.live(),
                (Some(source), false) => source.ready().await,
                (None, true) => HealthAnswer { up: true, report: Value::Null },
                (None, false) => ready_of(desk).await,
            };
            // Whoever shows a token that nobody looks at is told why; that it is wrong he is not.
            let offers = who::offers_secret(request.headers());
            let looks = gate::may_look(desk, request).await;
            told(
                &health,
                looks.map_err(|problem| {
                    let unseen = offers && matches!(problem, Problem::Host | Problem::Outside(_));
                    unseen.then(|| why_not(desk, &problem))
                }),
            )
        }
        "/metrics" => match &extra.metrics {
            None => plain(StatusCode::NOT_FOUND, "there are no metrics here\n"),
            Some(metrics) => match may_read(desk, extra.metrics_for, request).await {
                Ok(()) => metrics_text(&metrics()),
                Err(problem) => {
                    plain(problem.status(), &format!("no metrics: {}\n", why_not(desk, &problem)))
                }
            },
        },
        _ => plain(StatusCode::NOT_FOUND, "there is no such page\n"),
    }
}

/// Whether the process lives and is ready, where nobody else judges.
pub(crate) async fn health_of(desk: &Arc<Desk>) -> (HealthAnswer, HealthAnswer) {
    (HealthAnswer { up: true, report: Value::Null }, ready_of(desk).await)
}

/// What the store said last when it was asked for a sign of life. One asks, and the others wait for that answer.
#[derive(Debug, Default)]
pub(crate) struct Sign(tokio::sync::Mutex<Option<(Instant, HealthAnswer)>>);

/// Ready when the store answers. It is asked every so often at most, however many probes there are.
async fn ready_of(desk: &Arc<Desk>) -> HealthAnswer {
    let desk = Arc::clone(desk);
    // A task of its own: a probe that goes away before its answer must not have the next one ask again.
    let asking = tokio::spawn(async move {
        let mut last = desk.sign.0.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < SIGN_EVERY
        {
            return answer.clone();
        }
        let outbox = Arc::clone(&desk.stores.outbox);
        let answer = match desk.ask("a sign of life", async move { outbox.pulse(1).await }).await {
            Ok(_) => HealthAnswer { up: true, report: json!({ "store": "answers" }) },
            Err(trouble) => HealthAnswer { up: false, report: json!({ "store": trouble.to_string() }) },
        };
        *last = Some((Instant::now(), answer.clone()));
        answer
    });
    asking.await.unwrap_or_else(|_| HealthAnswer { up: false, report: json!({ "store": "was not asked" }) })
}

/// Why somebody may not look, and what to do about it. Which names are ours is not said.
fn why_not(desk: &Desk, problem: &Problem) -> String {
    match problem {
        _ if !desk.auth.may_act() => "no tokens are configured here, so only this machine may look, by the name \
                                      localhost and not through a proxy: give --tokens FILE or TENURE_DASHBOARD_TOKEN"
            .to_owned(),
        Problem::Host => "the Host of the request is not a name of this server, so no token is looked at: start it \
                          with --host NAME, as it stands in the address that is asked"
            .to_owned(),
        Problem::Unauthenticated(Stranger::Nobody) => {
            "a token is missing: send it as `Authorization: Bearer`".to_owned()
        }
        other => other.to_string(),
    }
}

/// Up or down for everyone; the report for those who may look, and a reason for those who tried to.
fn told(health: &HealthAnswer, looks: Result<(), Option<String>>) -> Response {
    let status = if health.up { "up" } else { "down" };
    let body = match looks {
        Ok(()) => json!({ "status": status, "report": health.report }),
        Err(Some(why)) => json!({ "status": status, "no_report": why }),
        Err(None) => json!({ "status": status }),
    };
    let code = if health.up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    typed(code, "application/json", &body.to_string())
}

async fn may_read(desk: &Arc<Desk>, metrics_for: MetricsFor, request: Request) -> Result<(), Problem> {
    match metrics_for.lets(&request) {
        true => Ok(()),
        false => gate::may_look(desk, request).await,
    }
}

impl MetricsFor {
    /// Whether someone may read them who shows no token. A page of somebody else's could read metrics through a browser on this
    /// machine: so the host counts here too.
    pub(crate) fn lets(self, request: &Request) -> bool {
        let named = || hosts::named(request.uri(), request.headers());
        match self {
            Self::Open => true,
            Self::Loopback => {
                loopback::check((request.version(), request.extensions(), request.headers()), false).is_ok()
                    && named().is_some_and(|host| hosts::is_loopback(&host))
            }
            Self::Closed => false,
        }
    }
}

/// Metrics, as Prometheus reads them.
pub(crate) fn metrics_text(text: &str) -> Response {
    typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}

pub(crate) fn typed(status: StatusCode, kind: &'static str, text: &str) -> Response {
    let mut response = plain(status, text);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) fn plain(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
