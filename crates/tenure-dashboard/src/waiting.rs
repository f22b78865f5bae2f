//! What is said while the database is away, or is no database of Tenure's: that, and nothing else.
//!
//! Nobody is asked who he is here, so nothing is told that could help a stranger: the reason stands in the log of this
//! process. A probe of liveness is told that the process lives, programs get JSON, and whoever may read metrics without a token reads
//! those of this process.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::dashboard::MOUNT;
use crate::door::{Bounds, Door, Place};
use crate::limits::{HEAD_MAX_BYTES, WAITING_MAX, WAITING_WITHIN};
use crate::serve::{Extra, accept, metrics_text, plain, typed};
use crate::{gate, headers};

/// What a dashboard waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitsFor {
    /// The database cannot be reached.
    #[default]
    Database,
    /// The database answers, and has no schema of Tenure's.
    Schema,
    /// The schema there is not of the version that this program needs.
    OtherSchema,
}

impl WaitsFor {
    /// In a heading, and what to do.
    const fn says(self) -> (&'static str, &'static str) {
        match self {
            Self::Database => {
                ("The database is away", "Why it cannot be reached stands in the log of this process.")
            }
            Self::Schema => (
                "The database has no Tenure schema",
                "It answers, and Tenure's tables are not there: create them with `tenure migrate`, or look whether --db, --schema \
                 and --table-prefix name the right place.",
            ),
            Self::OtherSchema => (
                "The schema of the database is of another version",
                "Bring it up to date with `tenure migrate`, or use the program that it was made by; which version there is stands in \
                 the log of this process.",
            ),
        }
    }
}

/// Says on an address what the dashboard waits for, until it is dropped. Connections are bounded in number, size and time, and
/// whoever is idle makes room for those who ask, so that probes are answered.
pub async fn waiting(
    listener: &TcpListener,
    waits_for: &watch::Receiver<WaitsFor>,
    extra: &Extra,
) -> Infallible {
    let door = Door::new(Bounds { places: 0, each: 0, reserve: WAITING_MAX });
    loop {
        let Some((stream, peer, place)) = accept(listener, &door).await else { continue };
        let (waits_for, extra) = (waits_for.clone(), extra.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = tokio::time::timeout(WAITING_WITHIN, connection(stream, peer, &place, &waits_for, &extra)) => {}
                () = place.sent_away() => {}
            }
        });
    }
}

/// One request of one connection.
async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    place: &Place,
    waits_for: &watch::Receiver<WaitsFor>,
    extra: &Extra,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| async move {
        place.asks();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let waits_for = *waits_for.borrow();
        Ok::<_, Infallible>(reply(&request, waits_for, extra))
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).max_buf_size(HEAD_MAX_BYTES).keep_alive(false);
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

fn reply(request: &Request, waits_for: WaitsFor, extra: &Extra) -> Response {
    let path = request.uri().path();
    let api = path.strip_prefix(MOUNT).is_some_and(|below| below.starts_with("/api/"));
    let (title, advice) = waits_for.says();
    const AWAY: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
    let json = |status, body: serde_json::Value| typed(status, "application/json", &body.to_string());
    let mut response = match (path, &extra.metrics) {
        ("/health/live", _) => json(StatusCode::OK, json!({ "status": "up" })),
        ("/health/ready", _) => json(AWAY, json!({ "status": "down" })),
        ("/metrics", None) => plain(StatusCode::NOT_FOUND, "# there are no metrics here\n"),
        // Tokens are not looked at here: wrong ones are counted and written down by the dashboard alone.
        ("/metrics", Some(metrics)) if extra.metrics_for.lets(request) => metrics_text(&metrics()),
        ("/metrics", Some(_)) => plain(
            AWAY,
            "# metrics need a token here, and tokens are read when the database has answered for the first time\n",
        ),
        _ if api => {
            let error = format!("{}. {advice}", title.to_lowercase());
            json(AWAY, json!({ "error": error, "what": "away" }))
        }
        _ => typed(AWAY, "text/html; charset=utf-8", &page(title, advice)),
    };
    headers::set(response.headers_mut(), &gate::request_id());
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn page(title: &str, advice: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">\
         <title>Tenure: {title}</title><h1>{title}</h1>\
         <p>The dashboard waits for it, and this page asks again every five seconds. {advice}</p></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
    use futures_util::FutureExt as _;

    use super::*;
    use crate::serve::MetricsFor;

    /// The status, the kind and the body of an answer to a request with these headers.
    fn says(
        path: &str,
        named: &[(&str, &str)],
        waits_for: WaitsFor,
        metrics_for: MetricsFor,
        peer: &str,
    ) -> (u16, String, String) {
        let extra = Extra { metrics: Some(Arc::new(|| "tenure_up 1\n".to_owned())), metrics_for };
        let mut request = named
            .iter()
            .fold(Request::get(path), |request, (name, value)| request.header(*name, *value))
            .body(Body::empty())
            .unwrap();
        request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
        let response = reply(&request, waits_for, &extra);
        let kind = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], headers::POLICY);
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).now_or_never().unwrap().unwrap();
        (status, kind, String::from_utf8(body.to_vec()).unwrap())
    }

    fn away(path: &str) -> (u16, String, String) {
        says(path, &[("host", "evil")], WaitsFor::Database, MetricsFor::Closed, "127.0.0.1:1")
    }

    #[test]
    fn a_probe_learns_that_the_process_lives_and_everyone_that_the_database_is_away() {
        assert_eq!(away("/health/live").0, 200);
        assert_eq!(away("/health/ready").0, 503);
        let (status, _, page) = away("/_tenure?x=%3Cscript%3E");
        assert!(status == 503 && page.contains("The database is away"), "{page}");
        assert!(!page.contains("script") && !page.contains("evil"), "nothing of the request comes back");
    }

    #[test]
    fn programs_get_json_and_a_missing_schema_is_told_from_a_database_that_is_away() {
        for (waits_for, text) in [
            (WaitsFor::Database, "the database is away"),
            (WaitsFor::Schema, "tenure migrate"),
            (WaitsFor::OtherSchema, "tenure migrate"),
        ] {
            let ask = |path: &str| says(path, &[], waits_for, MetricsFor::Closed, "10.0.0.1:1");
            let (status, kind, body) = ask("/_tenure/api/v1/status");
            assert_eq!((status, kind.as_str()), (503, "application/json"));
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert!(body["what"] == "away" && body["error"].as_str().unwrap().contains(text), "{body}");
            let page = ask("/").2;
            assert_eq!(page.contains("The database is away"), waits_for == WaitsFor::Database, "{page}");
        }
    }

    #[test]
    fn the_metrics_of_the_process_are_there_for_those_who_need_no_token() {
        let (here, there) = ("127.0.0.1:1", "10.0.0.1:1");
        let proxied = [("host", "localhost"), ("x-forwarded-for", "1.2.3.4")];
        for (named, metrics_for, peer, reads) in [
            (&[("host", "localhost:7070")][..], MetricsFor::Loopback, here, true),
            (&[("host", "evil.test")], MetricsFor::Loopback, here, false),
            (&[], MetricsFor::Loopback, here, false),
            (&proxied, MetricsFor::Loopback, here, false),
            (&[("host", "localhost")], MetricsFor::Loopback, there, false),
            (&[("host", "relay-1")], MetricsFor::Open, there, true),
            (&[("host", "localhost")], MetricsFor::Closed, here, false),
        ] {
            let (status, _, body) = says("/metrics", named, WaitsFor::Database, metrics_for, peer);
            assert_eq!(body.contains("tenure_up 1"), reads, "{named:?} {metrics_for:?} {peer}: {body}");
            assert_eq!(status == 200, reads, "{body}");
        }
    }
}
