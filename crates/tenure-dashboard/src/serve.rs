//! A server of its own, as the binary `tenure` has it.
//!
//! Beside the dashboard at its mount it answers `/health/live` and `/health/ready` for probes, `/metrics` for Prometheus, and
//! leads `/` to the mount. Heads, connections and waiting are bounded.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::auth::loopback;
use crate::dashboard::{Dashboard, Desk};
use crate::limits::HEAD_MAX_BYTES;
use crate::{gate, headers, hosts};

/// The most connections at once. What comes beyond waits.
const CONNECTIONS_MAX: usize = 512;
/// How long a client has to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long requests have to end when the server stops.
const END_WITHIN: Duration = Duration::from_secs(3);

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
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, peer, place)) = accepted else { continue };
        let (desk, extra, stopping) = (Arc::clone(&desk), extra.clone(), stopping.clone());
        tokio::spawn(async move {
            connection(desk, extra, stream, peer, stopping).await;
            drop(place);
        });
    }
    drop(listener);
    let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
    // Those that have not ended by then end with the process.
    let _ = tokio::time::timeout(END_WITHIN, places.acquire_many(all)).await;
    Ok(())
}

type Place = tokio::sync::OwnedSemaphorePermit;

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<(TcpStream, SocketAddr, Place)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, place)),
        Err(error) => {
            // Too many open files, say: it passes, and until then nobody is to be kept busy by it.
            tracing::warn!(%error, "a connection to the dashboard was not accepted");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn connection(
    desk: Arc<Desk>,
    extra: Extra,
    stream: TcpStream,
    peer: SocketAddr,
    mut stopping: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (desk, extra) = (Arc::clone(&desk), extra.clone());
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            Ok::<_, Infallible>(answer(&desk, &extra, request).await)
        }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD_MAX_BYTES);
    let served = server.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(served);
    let ended = tokio::select! {
        _ = served.as_mut() => true,
        _ = stopping.wait_for(|stopping| *stopping) => false,
    };
    if !ended {
        served.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(END_WITHIN, served).await;
    }
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
            let may_look = gate::may_look(desk, request).await;
            told(&health, may_look)
        }
        "/metrics" => match &extra.metrics {
            None => plain(StatusCode::NOT_FOUND, "there are no metrics here\n"),
            Some(metrics) if may_read(desk, extra.metrics_for, request).await => {
                let mut response = plain(StatusCode::OK, &metrics());
                let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response
            }
            Some(_) => plain(StatusCode::UNAUTHORIZED, "metrics need a token, as `Authorization: Bearer`\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, "there is no such page\n"),
    }
}

/// Whether the process lives and is ready, where nobody else judges.
pub(crate) async fn health_of(desk: &Arc<Desk>) -> (HealthAnswer, HealthAnswer) {
    (HealthAnswer { up: true, report: Value::Null }, ready_of(desk).await)
}

/// Ready when the store answers.
async fn ready_of(desk: &Desk) -> HealthAnswer {
    let outbox = Arc::clone(&desk.stores.outbox);
    match desk.ask("a sign of life", async move { outbox.pulse(1).await }).await {
        Ok(_) => HealthAnswer { up: true, report: json!({ "store": "answers" }) },
        Err(trouble) => HealthAnswer { up: false, report: json!({ "store": trouble.to_string() }) },
    }
}

/// Up or down for everyone; the report for those who may look.
fn told(health: &HealthAnswer, may_look: bool) -> Response {
    let status = if health.up { "up" } else { "down" };
    let body = match may_look {
        true => json!({ "status": status, "report": health.report }),
        false => json!({ "status": status }),
    };
    let code = if health.up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut response = plain(code, &body.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A page of somebody else's could read metrics through a browser on this machine: so the host counts here too.
async fn may_read(desk: &Arc<Desk>, metrics_for: MetricsFor, request: Request) -> bool {
    let named = hosts::named(request.uri(), request.headers());
    let here = loopback::check((request.version(), request.extensions(), request.headers()), false).is_ok()
        && named.is_some_and(|host| hosts::is_loopback(&host));
    match metrics_for {
        MetricsFor::Open => true,
        MetricsFor::Loopback if here => true,
        MetricsFor::Loopback | MetricsFor::Closed => gate::may_look(desk, request).await,
    }
}

fn plain(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
