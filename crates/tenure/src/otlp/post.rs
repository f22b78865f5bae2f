//! One request to the collector, and what its answer means.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};

use super::{OtlpError, OtlpSignal};
use crate::sink::HttpOptions;
use crate::sink::http::{Chain, Client, Target, client};

/// No more of an answer is read.
const ANSWER_MAX_BYTES: usize = 64 * 1024;
const AGENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

/// The collector did not take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotTaken {
    /// Why, without anything of the collector's own words: they may repeat a header.
    pub(super) reason: String,
    /// Whether the same may be taken later.
    pub(super) again: bool,
}

/// The way to the collector, for one kind of telemetry.
pub(super) struct Post {
    what: &'static str,
    target: Target,
    client: Client,
    headers: HeaderMap,
    timeout: Duration,
    away: AtomicBool,
}

impl Post {
    pub(super) fn new(
        what: &'static str,
        signal: &OtlpSignal,
        root_certificates: &[Vec<u8>],
    ) -> Result<Self, OtlpError> {
        let target = Target::parse(&signal.url)?;
        let options = HttpOptions {
            timeout: signal.timeout,
            idle_connections: 1,
            root_certificates: root_certificates.to_vec(),
            ..HttpOptions::default()
        };
        options.validate()?;
        let client = client(&target, &options)?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        for (name, value) in &signal.headers {
            let refused = |message: &str| OtlpError::BadOption {
                option: "the collector's headers".to_owned(),
                message: message.to_owned(),
            };
            let header = HeaderName::try_from(name).map_err(|_| refused("a name is no name of a header"))?;
            let mut value = HeaderValue::try_from(value.expose())
                .map_err(|_| refused(&format!("the value of `{header}` is no value of a header")))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let timeout = signal.timeout;
        Ok(Self { what, target, client, headers, timeout, away: AtomicBool::new(false) })
    }

    /// Sends it, and tells the log when the collector goes away and when it is back.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), NotTaken> {
        let sent = match tokio::time::timeout(self.timeout, self.try_send(body)).await {
            Ok(sent) => sent,
            Err(_) => Err(NotTaken { reason: format!("no answer within {:?}", self.timeout), again: true }),
        };
        let (what, collector) = (self.what, &self.target.name);
        match &sent {
            Ok(()) if self.away.swap(false, Relaxed) => {
                tracing::info!(%collector, "the collector takes {what} again");
            }
            Err(NotTaken { reason, .. }) if !self.away.swap(true, Relaxed) => {
                tracing::warn!(
                    %collector, reason,
                    "the collector does not take {what}; what it does not take is lost, all else goes on. This is told once"
                );
            }
            _ => {}
        }
        sent
    }

    async fn try_send(&self, body: Bytes) -> Result<(), NotTaken> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let response = self.client.request(request).await;
        let response =
            response.map_err(|error| NotTaken { reason: Chain(&error).to_string(), again: true })?;
        let status = response.status();
        // Read to its end, or the connection is of no further use.
        let _ = Limited::new(response.into_body(), ANSWER_MAX_BYTES).collect().await;
        match status {
            status if status.is_success() => Ok(()),
            status => Err(NotTaken { reason: format!("it answers {status}"), again: passes(status) }),
        }
    }
}

/// The answers after which OTLP has it sent again.
fn passes(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}
