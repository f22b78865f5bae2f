//! What every response says to the browser.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};

/// Nothing but files of our own; no script and no style stands in a page, so none in a page is ever run. There is no nonce and
/// no hash: each would be a way to have one.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The header that tells the request's number, which stands in the log and the audit table too.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers that are the same on every response.
const ALWAYS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // No other site is told where one came from; our own is, for otherwise browsers hide the origin of our forms from us.
    (REFERRER_POLICY, "same-origin"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), \
         payment=(), usb=()",
    ),
];

/// Sets them. What may be kept by a browser has said so itself; all else may not.
pub(crate) fn set(headers: &mut HeaderMap, request_id: &str) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_runs_what_stands_in_it() {
        assert!(!POLICY.contains("unsafe") && !POLICY.contains("nonce") && !POLICY.contains("sha"));
        assert!(POLICY.starts_with("default-src 'none';"));
    }

    #[test]
    fn a_response_is_kept_nowhere_unless_it_says_so() {
        let mut headers = HeaderMap::new();
        set(&mut headers, "0123456789abcdef");
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        assert_eq!(headers[REQUEST_ID], "0123456789abcdef");
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        set(&mut headers, "0123456789abcdef");
        assert_eq!(headers[CACHE_CONTROL], "public");
    }
}
