//! Connections: kept alive, protected by TLS, and with a limit on everything.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Full;
use hyper::Uri;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tower_service::Service;

use super::target::Target;
use crate::sink::tls::{self, System};
use crate::sink::{HttpOptions, SinkError};

/// The most that a response's headers may take.
const HEADERS_MAX_BYTES: usize = 64 * 1024;
/// How much of a body HTTP/2 may send before we ask for more.
const WINDOW_BYTES: u32 = 64 * 1024;
/// On a connection that many requests share, a peer that is gone is found by asking it.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_PATIENCE: Duration = Duration::from_secs(5);

pub(crate) type Client = legacy::Client<Hurried<HttpsConnector<HttpConnector>>, Full<Bytes>>;

/// A receiver in plain text needs no look at the system's files.
fn trust(target: &Target, options: &HttpOptions) -> Result<ClientConfig, SinkError> {
    let system = if target.is_tls() { System::Needed } else { System::Unused };
    tls::client("http root certificates", &options.root_certificates, system)
}

pub(crate) fn client(target: &Target, options: &HttpOptions) -> Result<Client, SinkError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(Duration::from_secs(60)));
    // Shared out among the addresses of the host.
    tcp.set_connect_timeout(Some(options.connect_timeout));
    let tls = HttpsConnectorBuilder::new()
        .with_tls_config(trust(target, options)?)
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(tcp);
    Ok(legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(options.idle_timeout)
        .pool_max_idle_per_host(options.idle_connections)
        .http1_max_buf_size(HEADERS_MAX_BYTES)
        .http2_max_header_list_size(u32::try_from(HEADERS_MAX_BYTES).unwrap_or(u32::MAX))
        .http2_initial_stream_window_size(WINDOW_BYTES)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_PATIENCE)
        .build(Hurried { connector: tls, patience: options.connect_timeout }))
}

/// Gives a connection up when it takes too long. The connector's own limit is for TCP alone; names and TLS hang as well.
#[derive(Clone)]
pub(crate) struct Hurried<C> {
    connector: C,
    patience: Duration,
}

type BoxError = Box<dyn Error + Send + Sync>;

impl<C> Service<Uri> for Hurried<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, patience) = (self.connector.call(uri), self.patience);
        Box::pin(async move {
            match tokio::time::timeout(patience, connecting).await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => Err(format!("no connection within {patience:?}").into()),
            }
        })
    }
}
