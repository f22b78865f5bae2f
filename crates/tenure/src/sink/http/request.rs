//! From a message to a request.

use std::time::SystemTime;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::{Method, Request};
use tenure_core::observe::trace_headers;
use tenure_core::outbox::Message;
use tenure_core::outbox::cloudevents::{attributes, check_content_type, percent_encode};

use super::signature::{SIGNATURE_HEADER, sign};
use super::target::Target;
use crate::sink::{EventSource, HttpOptions};

const AGENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

/// The request, or why there can be none. Nothing here is the network's fault: another try would end the same way.
pub(super) fn build(
    target: &Target,
    source: &EventSource,
    options: &HttpOptions,
    message: &Message,
) -> Result<Request<Full<Bytes>>, String> {
    let body = Bytes::copy_from_slice(message.body.as_bytes());
    let mut headers = event(source, message)?;
    headers.insert(CONTENT_TYPE, content_type(message.content_type())?);
    // An empty body is left without a length by hyper, and some servers answer 411 to that.
    headers.insert(CONTENT_LENGTH, HeaderValue::from(message.body.as_bytes().len()));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    for (name, text) in trace_headers(&message.headers) {
        // A context that is none stays an attribute: a receiver's tracing should not have to cope with it.
        if let Some(value) = as_it_stands(text) {
            headers.insert(name, value);
        }
    }
    let secret = |text: String| {
        let mut value = HeaderValue::try_from(text).map_err(|_| "the token is no header value".to_owned())?;
        value.set_sensitive(true);
        Ok::<_, String>(value)
    };
    if let Some(token) = &options.token {
        headers.insert(AUTHORIZATION, secret(format!("Bearer {}", token.expose()))?);
    }
    if let Some(key) = &options.signing_secret {
        let signature = sign(key, SystemTime::now(), &message.id.to_string(), &body);
        headers.insert(SIGNATURE_HEADER, secret(signature)?);
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = target.uri.clone();
    *request.headers_mut() = headers;
    Ok(request)
}

/// The event's attributes.
fn event(source: &EventSource, message: &Message) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(20);
    let mut failed = None;
    attributes(source, message, |name, value| {
        let header = HeaderName::try_from(format!("ce-{name}"));
        let value = HeaderValue::try_from(percent_encode(&value).as_bytes());
        let put = match (header, value) {
            (Ok(header), Ok(value)) => headers.try_insert(header, value).is_ok(),
            _ => false,
        };
        if !put {
            failed = Some(format!("the attribute `{name}` is no HTTP header, or one too many"));
        }
    });
    failed.map_or(Ok(headers), Err)
}

fn content_type(text: &str) -> Result<HeaderValue, String> {
    check_content_type(text)?;
    as_it_stands(text).ok_or_else(|| "the content type is no header value".to_owned())
}

/// A header's value that is not encoded: visible ASCII and spaces. `HeaderValue` itself takes other bytes too, of which no two
/// receivers think the same.
fn as_it_stands(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    plain.then(|| HeaderValue::from_str(text).ok())?
}
