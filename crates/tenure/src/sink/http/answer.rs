//! From a response to a verdict.

use std::time::{Duration, SystemTime};

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use hyper::{Response, StatusCode};
use tenure_core::outbox::Verdict;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::target::Target;
use crate::sink::HttpOptions;
use crate::sink::shown::Shown;

/// The most of a body that is read. It is read at all so that the connection can be used again.
const BODY_MAX_BYTES: usize = 64 * 1024;
/// How long to wait for a body: the status has said what matters.
const BODY_PATIENCE: Duration = Duration::from_secs(1);

/// Reads answers, and strikes out secrets that they repeat.
pub(super) struct Reader {
    url: Url,
    shown: Shown,
}

impl Reader {
    pub(super) fn new(target: &Target, options: &HttpOptions) -> Self {
        let configured = [&options.token, &options.signing_secret].into_iter().flatten();
        let mut shown = Shown::without(configured);
        // Receivers like to repeat what they were asked; in a query there may be a key.
        shown.hide_part(target.url.query().unwrap_or_default());
        Self { url: target.url.clone(), shown }
    }

    /// The verdict on a response. Its body is read for the reason alone: it changes nothing, however it ends.
    pub(super) async fn judge(&self, response: Response<Incoming>, deadline: Instant) -> Verdict {
        let (parts, body) = response.into_parts();
        let deadline = deadline.min(Instant::now() + BODY_PATIENCE);
        let body = read(body, deadline).await;
        let reason = self.reason(parts.status, &parts.headers, &body);
        match parts.status.as_u16() {
            200..=299 => Verdict::Accepted,
            408 | 425 | 429 | 500..=599 => {
                let retry_after = retry_after(&parts.headers, SystemTime::now());
                Verdict::Transient { reason, retry_after }
            }
            400..=499 => Verdict::Rejected { reason },
            _ => Verdict::transient(reason),
        }
    }

    /// A text as it may be shown.
    pub(super) fn plain(&self, text: &str) -> String {
        self.shown.plain(text.as_bytes())
    }

    fn reason(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> String {
        let code = status.as_u16();
        if status.is_redirection() {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).and_then(|to| self.elsewhere(to));
            let to = to.map_or_else(String::new, |host| format!(" (to {host})"));
            return format!("HTTP {code}: redirects are not followed{to}; correct the receiver's URL");
        }
        match self.shown.plain(body) {
            text if text.is_empty() => format!("HTTP {code}"),
            text => format!("HTTP {code}: {text}"),
        }
    }

    /// The host that a `Location` names, without path and query, where the secrets are.
    fn elsewhere(&self, location: &str) -> Option<String> {
        let to = self.url.join(location).ok()?;
        matches!(to.scheme(), "http" | "https").then(|| to.origin().ascii_serialization())
    }
}

/// What comes of a body until the limit, the deadline or a failure. If it was not its end, the connection is closed when the
/// body is dropped here.
async fn read(mut body: Incoming, deadline: Instant) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await {
        let Ok(data) = frame.into_data() else { continue };
        bytes.extend_from_slice(&data[..data.len().min(BODY_MAX_BYTES - bytes.len())]);
        if bytes.len() >= BODY_MAX_BYTES {
            break;
        }
    }
    bytes
}

/// How long the receiver asks to be left alone. What cannot be read, and a moment that has passed, asks for nothing; how
/// long is too long is for the relay to say.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let asked = text(RETRY_AFTER)?.trim();
    let span = if !asked.is_empty() && asked.bytes().all(|b| b.is_ascii_digit()) {
        asked.parse().map_or(Duration::MAX, Duration::from_secs)
    } else {
        // A date is by the receiver's clock; ours may be hours off.
        let now = text(DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
        httpdate::parse_http_date(asked).ok()?.duration_since(now).ok()?
    };
    (!span.is_zero()).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn reader() -> Reader {
        Reader { url: Url::parse("https://a.example/in?key=1").unwrap(), shown: Shown::without([]) }
    }

    fn asked(retry_after_text: &str, date: Option<&str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, retry_after_text.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        // Sun, 06 Nov 1994 08:49:37 GMT.
        retry_after(&headers, UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let seconds = |count| Some(Duration::from_secs(count));
        assert_eq!(asked(" 120 ", None), seconds(120));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:37 GMT", None), seconds(60));
        assert_eq!(asked("Sunday, 06-Nov-94 08:50:37 GMT", None), seconds(60), "the old form");
        assert_eq!(asked("315360000000", None), seconds(315_360_000_000), "the relay cuts it");
        assert_eq!(asked("99999999999999999999999", None), Some(Duration::MAX));
        for nothing in ["0", "Sun, 06 Nov 1994 08:49:36 GMT", "-5", "+5", "1.5", "soon", "", "5 s"] {
            assert_eq!(asked(nothing, None), None, "{nothing}");
        }
    }

    #[test]
    fn a_date_is_taken_by_the_receivers_clock() {
        let theirs = Some("Mon, 07 Nov 1994 08:49:37 GMT");
        assert_eq!(asked("Mon, 07 Nov 1994 08:49:47 GMT", theirs), Some(Duration::from_secs(10)));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:37 GMT", theirs), None);
    }

    #[test]
    fn a_redirects_host_is_named_and_nothing_else_of_it() {
        let reader = reader();
        let to = |location: &str| reader.elsewhere(location);
        assert_eq!(to("https://u:p@b.example:8443/x?token=1").as_deref(), Some("https://b.example:8443"));
        assert_eq!(to("/other?key=1").as_deref(), Some("https://a.example"));
        assert_eq!(to("javascript:alert(1)"), None);
    }
}
